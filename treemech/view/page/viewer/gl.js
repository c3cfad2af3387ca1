// The renderer: WebGL2, one draw for every mesh, poses in a texture, a soft shadow on the floor.
const FETCH = `
uniform sampler2D poses;
vec4 texel(int part, int row) { return texelFetch(poses, ivec2((part & 255) * 4 + row, part >> 8), 0); }
`;
const VERTEX = `#version 300 es
precision highp float;
layout(location=0) in vec3 vertex; layout(location=1) in vec4 normal;
layout(location=2) in vec4 r0; layout(location=3) in vec4 r1; layout(location=4) in vec4 r2;
layout(location=5) in vec4 colour; layout(location=6) in vec2 who;
${FETCH}
uniform mat4 view; uniform float hot, lit;
out vec3 n; out vec3 at; out vec4 paint; flat out float glow;
void main() {
  vec3 p = vec3(dot(r0, vec4(vertex, 1.)), dot(r1, vec4(vertex, 1.)), dot(r2, vec4(vertex, 1.)));
  int part = int(who.x + .5);
  vec4 a = texel(part, 0), b = texel(part, 1), c = texel(part, 2), tint = texel(part, 3);
  at = vec3(dot(a, vec4(p, 1.)), dot(b, vec4(p, 1.)), dot(c, vec4(p, 1.)));
  mat3 M = transpose(mat3(a.xyz, b.xyz, c.xyz)) * transpose(mat3(r0.xyz, r1.xyz, r2.xyz));
  n = mat3(cross(M[1], M[2]), cross(M[2], M[0]), cross(M[0], M[1])) * normal.xyz;
  paint = vec4(mix(colour.rgb, tint.rgb, tint.a) * (normal.w > 0. ? normal.w : 1.), colour.a);
  glow = hot >= 0. && abs(who.y - hot) < .5 ? 1. : 0.;
  gl_Position = view * vec4(at, 1.);
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec3 n; in vec3 at; in vec4 paint; flat in float glow;
uniform vec3 eye, up, key, back; uniform float lit, dark, flatView;
out vec4 result;
void main() {
  if (lit < .5) { result = vec4(paint.rgb * paint.a, paint.a); return; }
  vec3 v = flatView > .5 ? back : normalize(eye - at), m = normalize(n);
  float facing = dot(m, v);
  if (facing < 0.) { m = -m; facing = -facing; }
  vec3 base = paint.rgb * paint.rgb;
  float k = max(dot(m, key), 0.), sky = .5 + .5 * dot(m, up), h = max(dot(m, normalize(key + v)), 0.);
  vec3 ambient = mix(vec3(.20, .19, .18), vec3(.46, .49, .54), sky) * mix(1., .82, dark);
  vec3 c = base * (ambient + vec3(.86, .83, .78) * k) + vec3(.16) * pow(h, 42.) * step(.001, k);
  c *= mix(.62, 1., smoothstep(.0, .38, facing));
  c += glow * vec3(.10, .13, .2);
  result = vec4(sqrt(c) * paint.a, paint.a);
}`;
const SHADE = `#version 300 es
precision highp float;
layout(location=0) in vec3 vertex;
layout(location=2) in vec4 r0; layout(location=3) in vec4 r1; layout(location=4) in vec4 r2;
layout(location=5) in vec4 colour; layout(location=6) in vec2 who;
${FETCH}
uniform vec3 e1, e2, up, sun, middle; uniform float level, reach;
void main() {
  vec3 p = vec3(dot(r0, vec4(vertex, 1.)), dot(r1, vec4(vertex, 1.)), dot(r2, vec4(vertex, 1.)));
  int part = int(who.x + .5);
  vec4 q = vec4(p, 1.);
  p = vec3(dot(texel(part, 0), q), dot(texel(part, 1), q), dot(texel(part, 2), q));
  float high = dot(p, up) - level;
  p -= sun * (high / dot(sun, up)) + middle;
  gl_Position = vec4(dot(p, e1) / reach, dot(p, e2) / reach, 1. - (high / reach + .02) / 4., 1.);  // clipped below the floor
}`;
const BLACK = `#version 300 es
precision mediump float; out vec4 result; void main() { result = vec4(1.); }`;
const FLOOR_V = `#version 300 es
precision highp float;
layout(location=0) in vec3 vertex; uniform mat4 view; uniform vec3 e1, e2, up, middle; uniform float level, reach;
out vec2 uv;
void main() { uv = vertex.xy * reach; gl_Position = view * vec4(middle + e1 * uv.x + e2 * uv.y + up * (level - dot(middle, up)), 1.); }`;
const FLOOR_F = `#version 300 es
precision highp float;
in vec2 uv; uniform sampler2D shade; uniform float reach, step_, dark, below, wide; uniform vec2 shift; out vec4 result;
float line(vec2 x, float s) { vec2 w = fwidth(x / s), d = abs(fract(x / s - .5) - .5) / max(w, 1e-5); return (1. - clamp(min(d.x, d.y), 0., 1.)) * (1. - smoothstep(.25, .6, max(w.x, w.y))); }
void main() {
  float r = length(uv) / reach, fade = 1. - smoothstep(.35, 1., r);
  if (fade <= 0.) discard;
  float g = max(.55 * line(uv + shift, step_), line(uv + shift, 5. * step_)) * fade;
  vec2 s = uv / wide * .5 + .5;
  float w = 1.6 / 512., dim = 0.;
  if (below < .5 && abs(s.x - .5) < .5 && abs(s.y - .5) < .5)
    dim = .36 * textureLod(shade, s, 1.).r + .16 * (textureLod(shade, s + vec2(w, w), 2.).r + textureLod(shade, s + vec2(-w, w), 2.).r
      + textureLod(shade, s + vec2(w, -w), 2.).r + textureLod(shade, s - vec2(w, w), 2.).r);
  dim *= .42 * fade;
  vec3 ink = mix(vec3(.30, .36, .44), vec3(.62, .70, .82), dark);
  float a = g * mix(.34, .26, dark) * (below > .5 ? .3 : 1.);
  result = vec4(ink * a, a) * (1. - dim) + vec4(vec3(.04, .06, .10) * dim * mix(1., .1, dark), dim);
}`;

function makeGl(canvas) {
  const gl = canvas.getContext("webgl2", {alpha: true, antialias: true, premultipliedAlpha: true, powerPreference: "high-performance"});
  if (!gl) return null;
  const SHADOW = 512, key = unit(add(add(times(.55, UP), E1, -.35), E2, -.62)), sun = unit(add(add(UP, E1, -.22), E2, -.3));
  const compile = (v, f) => {
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, v], [gl.FRAGMENT_SHADER, f]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    const at = {};
    return {program, u: name => at[name] === undefined ? at[name] = gl.getUniformLocation(program, name) : at[name]};
  };
  const solid = compile(VERTEX, FRAGMENT), shade = compile(SHADE, BLACK), floor = compile(FLOOR_V, FLOOR_F);
  const buffer = (target, data, use = gl.STATIC_DRAW) => { const b = gl.createBuffer(); gl.bindBuffer(target, b); gl.bufferData(target, data, use); return b; };

  // meshes: vertices and normals once, instances whenever what is visible changes
  const stride = 4 * 15;
  const meshes = MESHES.map(m => {
    const vao = gl.createVertexArray(), n = m.normals;
    gl.bindVertexArray(vao);
    buffer(gl.ARRAY_BUFFER, m.vertices);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    buffer(gl.ARRAY_BUFFER, n);
    gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 4, gl.BYTE, true, 0, 0);
    const wide = m.vertices.length / 3 > 65535, index = wide ? m.triangles : new Uint16Array(m.triangles);
    buffer(gl.ELEMENT_ARRAY_BUFFER, index);
    const instances = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, instances);
    [[2, 4, 0], [3, 4, 16], [4, 4, 32], [6, 2, 52]].forEach(([at, count, offset]) => {
      gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, count, gl.FLOAT, false, stride, offset); gl.vertexAttribDivisor(at, 1); });
    gl.enableVertexAttribArray(5); gl.vertexAttribPointer(5, 4, gl.UNSIGNED_BYTE, true, stride, 48); gl.vertexAttribDivisor(5, 1);
    gl.bindVertexArray(null);
    return {vao, instances, indices: index.length, type: wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT, solid: 0, clear: 0};
  });
  const shades = item => S.layers[item.layer] !== "hinges" || S.parts.length < 40;      // small parts of many leave no shadow
  function show(visible) {
    const opaque = MESHES.map(() => []), clear = MESHES.map(() => []);
    for (const item of ITEMS) if (visible(item)) (item.rgba[3] === 255 ? opaque : clear)[item.mesh].push(item);
    meshes.forEach((m, k) => {
      const all = [...opaque[k].filter(shades), ...opaque[k].filter(i => !shades(i)), ...clear[k]], data = new ArrayBuffer(stride * all.length), f = new Float32Array(data), b = new Uint8Array(data);
      all.forEach((item, i) => { f.set(item.map, 15 * i); b.set(item.rgba, stride * i + 48); f[15 * i + 13] = item.part; f[15 * i + 14] = item.owner; });
      gl.bindBuffer(gl.ARRAY_BUFFER, m.instances); gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      m.solid = opaque[k].length; m.clear = clear[k].length; m.dark = opaque[k].filter(shades).length;
    });
  }

  // forms: made anew in every frame
  const forms = [FORM, OVER].map(g => {
    const vao = gl.createVertexArray(), own = gl.createBuffer();
    gl.bindVertexArray(vao); gl.bindBuffer(gl.ARRAY_BUFFER, own);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 24, 0);
    gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 24, 12);
    gl.bindVertexArray(null);
    return {g, vao, own};
  });

  const rows = 1 + (PARTS >> 8), texels = new Float32Array(4 * 1024 * rows), poses = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, poses);
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, 1024, rows);
  for (const p of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, p, gl.NEAREST);
  // the shadow: everything flattened on the floor, seen from above
  const dim = gl.createTexture(), frame = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, dim);
  gl.texStorage2D(gl.TEXTURE_2D, 5, gl.R8, SHADOW, SHADOW);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
  for (const p of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, p, gl.CLAMP_TO_EDGE);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, dim, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  const square = gl.createVertexArray();
  gl.bindVertexArray(square);
  buffer(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0]));
  gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindVertexArray(null);

  const plain = () => { gl.vertexAttrib4f(2, 1, 0, 0, 0); gl.vertexAttrib4f(3, 0, 1, 0, 0); gl.vertexAttrib4f(4, 0, 0, 1, 0); gl.vertexAttrib2f(6, PARTS, -9); };
  function instances(which) {
    for (const m of meshes) {
      const first = which === "clear" ? m.solid : 0, count = which === "clear" ? m.clear : which === "dark" ? m.dark : m.solid;
      if (!count) continue;
      gl.bindVertexArray(m.vao);
      if (first) {
        gl.bindBuffer(gl.ARRAY_BUFFER, m.instances);
        [[2, 4, 0], [3, 4, 16], [4, 4, 32], [6, 2, 52]].forEach(([at, n, o]) => gl.vertexAttribPointer(at, n, gl.FLOAT, false, stride, o + stride * first));
        gl.vertexAttribPointer(5, 4, gl.UNSIGNED_BYTE, true, stride, 48 + stride * first);
      }
      gl.drawElementsInstanced(gl.TRIANGLES, m.indices, m.type, 0, count);
      if (first) {
        [[2, 4, 0], [3, 4, 16], [4, 4, 32], [6, 2, 52]].forEach(([at, n, o]) => gl.vertexAttribPointer(at, n, gl.FLOAT, false, stride, o));
        gl.vertexAttribPointer(5, 4, gl.UNSIGNED_BYTE, true, stride, 48);
      }
    }
  }
  function form(f, program) {
    gl.bindVertexArray(f.vao);
    plain();
    for (const run of f.g.runs) {
      if (!run.count) continue;
      gl.vertexAttrib4f(5, ...run.colour, run.alpha);
      if (program === solid) gl.uniform1f(solid.u("lit"), run.lit);
      gl.drawArrays(gl.TRIANGLES, run.first, run.count);
    }
    if (program === solid) gl.uniform1f(solid.u("lit"), 1);
  }
  const wide = 1.7 * S.radius;
  function draw(look) {
    texels.set(POSES); texels.set([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0], 16 * PARTS);
    gl.activeTexture(gl.TEXTURE0); gl.bindTexture(gl.TEXTURE_2D, poses);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 1024, rows, gl.RGBA, gl.FLOAT, texels);
    for (const f of forms) { gl.bindBuffer(gl.ARRAY_BUFFER, f.own); gl.bufferData(gl.ARRAY_BUFFER, f.g.data.subarray(0, f.g.n), gl.DYNAMIC_DRAW); }
    const floored = look.floor, middle = add(follow >= 0 ? cam.target : [0, 0, 0], UP, -dot(follow >= 0 ? cam.target : [0, 0, 0], UP));
    if (floored) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      gl.viewport(0, 0, SHADOW, SHADOW);
      gl.disable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
      gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT);
      gl.useProgram(shade.program);
      gl.uniform3fv(shade.u("e1"), E1); gl.uniform3fv(shade.u("e2"), E2); gl.uniform3fv(shade.u("up"), UP); gl.uniform3fv(shade.u("sun"), sun);
      gl.uniform3fv(shade.u("middle"), middle);
      gl.uniform1f(shade.u("level"), S.floor); gl.uniform1f(shade.u("reach"), wide); gl.uniform1i(shade.u("poses"), 0);
      instances("dark"); form(forms[0], shade);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
      gl.activeTexture(gl.TEXTURE1); gl.bindTexture(gl.TEXTURE_2D, dim); gl.generateMipmap(gl.TEXTURE_2D);
      gl.activeTexture(gl.TEXTURE0);
    }
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND); gl.depthMask(true);
    gl.useProgram(solid.program);
    gl.uniformMatrix4fv(solid.u("view"), false, cam.matrix);
    gl.uniform3fv(solid.u("eye"), cam.eye); gl.uniform3fv(solid.u("up"), UP); gl.uniform3fv(solid.u("back"), cam.back);
    gl.uniform3fv(solid.u("key"), unit(add(key, add(cam.back, cam.right, -.35), .55)));
    gl.uniform1f(solid.u("dark"), look.dark ? 1 : 0); gl.uniform1f(solid.u("hot"), look.hot); gl.uniform1f(solid.u("lit"), 1);
    gl.uniform1f(solid.u("flatView"), cam.flat ? 1 : 0); gl.uniform1i(solid.u("poses"), 0);
    instances("solid"); form(forms[0], solid);
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (floored) {
      gl.useProgram(floor.program);
      gl.uniformMatrix4fv(floor.u("view"), false, cam.matrix);
      gl.uniform3fv(floor.u("e1"), E1); gl.uniform3fv(floor.u("e2"), E2); gl.uniform3fv(floor.u("up"), UP); gl.uniform3fv(floor.u("middle"), middle);
      gl.uniform1f(floor.u("level"), S.floor); gl.uniform1f(floor.u("reach"), 3.2 * S.radius); gl.uniform1f(floor.u("wide"), wide);
      gl.uniform1f(floor.u("step_"), S.grid); gl.uniform1f(floor.u("dark"), look.dark ? 1 : 0);
      const o = add(middle, S.centre); gl.uniform2f(floor.u("shift"), dot(o, E1) % (5 * S.grid), dot(o, E2) % (5 * S.grid));
      gl.uniform1f(floor.u("below"), dot(cam.eye, UP) < S.floor ? 1 : 0); gl.uniform1i(floor.u("shade"), 1);
      gl.depthMask(false);
      gl.bindVertexArray(square); gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
      gl.useProgram(solid.program);
    }
    gl.depthMask(true);
    form(forms[1], solid);
    gl.depthMask(false);
    instances("clear");
    gl.depthMask(true);
  }
  return {name: "WebGL2", gl, show, draw, resize() {}};
}
