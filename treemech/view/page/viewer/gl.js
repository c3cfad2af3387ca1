// The renderer: WebGL2, one draw for every mesh, a soft shadow on the floor.
const VERTEX = `#version 300 es
precision highp float;
layout(location=0) in vec3 vertex; layout(location=1) in vec4 normal;
layout(location=2) in vec4 r0; layout(location=3) in vec4 r1; layout(location=4) in vec4 r2;
layout(location=5) in vec4 colour; layout(location=6) in float who;
uniform mat4 view; uniform float hot, lit;
out vec3 n; out vec3 at; out vec4 paint; flat out float glow;
void main() {
  at = vec3(dot(r0, vec4(vertex, 1.)), dot(r1, vec4(vertex, 1.)), dot(r2, vec4(vertex, 1.)));
  vec3 m = normal.xyz;
  n = vec3(dot(cross(r1.xyz, r2.xyz), m), dot(cross(r2.xyz, r0.xyz), m), dot(cross(r0.xyz, r1.xyz), m));
  paint = vec4(colour.rgb * (normal.w > 0. ? normal.w : 1.), colour.a);
  glow = hot >= 0. && abs(who - hot) < .5 ? 1. : 0.;
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
uniform vec3 e1, e2, up, sun, middle; uniform float level, reach;
void main() {
  vec3 p = vec3(dot(r0, vec4(vertex, 1.)), dot(r1, vec4(vertex, 1.)), dot(r2, vec4(vertex, 1.)));
  float high = dot(p, up) - level;
  p -= sun * (high / dot(sun, up)) + middle;
  gl_Position = vec4(dot(p, e1) / reach, dot(p, e2) / reach, 1. - (high / reach + .02) / 4., 1.);  // clipped below the floor
}`;
const BLACK = `#version 300 es
precision mediump float; out vec4 result; void main() { result = vec4(1.); }`;
const SHADOW_V = `#version 300 es
precision highp float;
layout(location=0) in vec3 vertex; uniform mat4 view; uniform vec3 e1, e2, up, middle; uniform float level, wide;
out vec2 s;
void main() { s = .5 + .5 * vertex.xy; gl_Position = view * vec4(middle + (e1 * vertex.x + e2 * vertex.y) * wide + up * level, 1.); }`;
const SHADOW_F = `#version 300 es
precision mediump float;
in vec2 s; uniform sampler2D shade; uniform float dark; out vec4 result;
void main() {
  if (textureLod(shade, s, 4.).r == 0.) discard;             // most of the floor has no shadow
  float w = 1.6 / 512., dim = .36 * textureLod(shade, s, 1.).r + .16 * (textureLod(shade, s + vec2(w, w), 2.).r + textureLod(shade, s + vec2(-w, w), 2.).r
    + textureLod(shade, s + vec2(w, -w), 2.).r + textureLod(shade, s - vec2(w, w), 2.).r);
  dim *= .42;
  result = vec4(vec3(.04, .06, .10) * dim * mix(1., .1, dark), dim);
}`;
const GRID_V = `#version 300 es
precision highp float;
layout(location=0) in vec3 vertex; uniform mat4 view; uniform vec3 e1, e2, up, middle; uniform float level, reach, weight; uniform vec2 shift;
out float a;
void main() {
  vec2 uv = vertex.xy - shift;
  a = vertex.z * weight * (1. - smoothstep(.35, 1., length(uv) / reach));
  gl_Position = view * vec4(middle + e1 * uv.x + e2 * uv.y + up * level, 1.);
}`;
const GRID_F = `#version 300 es
precision mediump float;
in float a; uniform vec3 ink; out vec4 result; void main() { result = vec4(ink * a, a); }`;

function makeGl(canvas) {
  const options = {alpha: true, antialias: true, premultipliedAlpha: true, powerPreference: "high-performance"};
  const probe = ITEMS.length > 600 && document.createElement("canvas").getContext("webgl2"), told = probe && probe.getExtension("WEBGL_debug_renderer_info");
  if (told && /swiftshader|llvmpipe|software/i.test(probe.getParameter(told.UNMASKED_RENDERER_WEBGL))) options.antialias = false;   // no graphics card
  if (probe) probe.getExtension("WEBGL_lose_context")?.loseContext();
  const gl = canvas.getContext("webgl2", options);
  if (!gl) return null;
  const wide = 1.7 * S.radius, SHADOW = 512, key = unit(add(add(times(.55, UP), E1, -.35), E2, -.62)), sun = unit(add(add(UP, E1, -.22), E2, -.3));
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
  const solid = compile(VERTEX, FRAGMENT), shade = compile(SHADE, BLACK), floor = compile(SHADOW_V, SHADOW_F), grid = compile(GRID_V, GRID_F);
  const buffer = (target, data, use = gl.STATIC_DRAW) => { const b = gl.createBuffer(); gl.bindBuffer(target, b); gl.bufferData(target, data, use); return b; };

  // meshes: vertices and normals once, instances whenever what is visible changes
  const stride = 4 * 14, LAYOUT = [[2, 4, 0], [3, 4, 16], [4, 4, 32], [6, 1, 52]];
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
    LAYOUT.forEach(([at, count, offset]) => {
      gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, count, gl.FLOAT, false, stride, offset); gl.vertexAttribDivisor(at, 1); });
    gl.enableVertexAttribArray(5); gl.vertexAttribPointer(5, 4, gl.UNSIGNED_BYTE, true, stride, 48); gl.vertexAttribDivisor(5, 1);
    gl.bindVertexArray(null);
    return {vao, instances, indices: index.length, type: wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT, solid: 0, clear: 0};
  });
  const road = item => S.layers[item.layer] === "ground" && S.owners[item.owner][1] !== "ground";
  const shades = item => !road(item) && (S.layers[item.layer] !== "hinges" || S.parts.length < 40);      // small parts of many leave no shadow
  function show(visible) {
    const opaque = MESHES.map(() => []), clear = MESHES.map(() => []);
    for (const item of ITEMS) if (visible(item)) (item.rgba[3] === 255 ? opaque : clear)[item.mesh].push(item);
    meshes.forEach((m, k) => {
      m.items = [...opaque[k].filter(shades), ...opaque[k].filter(i => !shades(i)), ...clear[k]];
      m.data = new ArrayBuffer(stride * m.items.length); m.numbers = new Float32Array(m.data); m.bytes = new Uint8Array(m.data);
      m.items.forEach((item, i) => { m.bytes.set(item.rgba, stride * i + 48); m.numbers[14 * i + 13] = item.owner; });
      gl.bindBuffer(gl.ARRAY_BUFFER, m.instances); gl.bufferData(gl.ARRAY_BUFFER, m.data, gl.DYNAMIC_DRAW);
      m.solid = opaque[k].length; m.clear = clear[k].length; m.dark = opaque[k].filter(shades).length;
    });
  }

  function pose() {                                          // where every instance is now
    for (const m of meshes) {
      if (!m.items || !m.items.length) continue;
      m.items.forEach((item, i) => {
        const p = 16 * item.part, M = item.map, o = 14 * i, out = m.numbers;
        for (let r = 0; r < 3; r++) {
          const a = POSES[p + 4 * r], b = POSES[p + 4 * r + 1], c = POSES[p + 4 * r + 2], q = o + 4 * r;
          out[q] = a * M[0] + b * M[4] + c * M[8]; out[q + 1] = a * M[1] + b * M[5] + c * M[9]; out[q + 2] = a * M[2] + b * M[6] + c * M[10];
          out[q + 3] = a * M[3] + b * M[7] + c * M[11] + POSES[p + 4 * r + 3];
        }
        const share = POSES[p + 15];
        if (share || item.tinted) {
          item.tinted = true;
          for (let k = 0; k < 3; k++) m.bytes[stride * i + 48 + k] = (1 - share) * item.rgba[k] + share * 255 * POSES[p + 12 + k];
        }
      });
      gl.bindBuffer(gl.ARRAY_BUFFER, m.instances); gl.bufferSubData(gl.ARRAY_BUFFER, 0, m.data);
    }
  }

  // forms: made anew in every frame
  const forms = [FORM, OVER, TOP].map(g => {
    const vao = gl.createVertexArray(), own = gl.createBuffer();
    gl.bindVertexArray(vao); gl.bindBuffer(gl.ARRAY_BUFFER, own);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 24, 0);
    gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 24, 12);
    gl.bindVertexArray(null);
    return {g, vao, own};
  });

  // the shadow: everything flattened on the floor, seen from above
  const dim = gl.createTexture(), frame = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, dim);
  gl.texStorage2D(gl.TEXTURE_2D, 5, gl.R8, SHADOW, SHADOW);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
  for (const p of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, p, gl.CLAMP_TO_EDGE);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, dim, 0);
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  // its tiles: only those on which something throws a shadow are drawn
  const TILES = 32, tiles = {vao: gl.createVertexArray(), own: gl.createBuffer()};
  gl.bindVertexArray(tiles.vao); gl.bindBuffer(gl.ARRAY_BUFFER, tiles.own);
  gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  gl.bindVertexArray(null);
  function shaded(middle) {
    const on = new Uint8Array(TILES * TILES), slope = times(1 / dot(sun, UP), sun), k = TILES / (2 * wide);
    const mark = (p, r) => {
      const q = add(add(p, slope, S.floor - dot(p, UP)), middle, -1), u = dot(q, E1), v = dot(q, E2), far = 1.6 * r + wide / TILES;
      for (let i = Math.max(0, Math.floor((u - far + wide) * k)); i <= Math.min(TILES - 1, (u + far + wide) * k); i++)
        for (let j = Math.max(0, Math.floor((v - far + wide) * k)); j <= Math.min(TILES - 1, (v + far + wide) * k); j++) on[i * TILES + j] = 1;
    };
    meshes.forEach((m, n) => {
      const low = MESHES[n].low, high = MESHES[n].high, half = times(.5, add(high, low, -1)), c = times(.5, add(high, low));
      for (let i = 0; i < m.dark; i++) {
        const M = m.numbers.subarray(14 * i, 14 * i + 12), axes = [0, 1, 2].map(j => half[j] * Math.hypot(M[j], M[4 + j], M[8 + j]));
        const at = [0, 4, 8].map(r => M[r] * c[0] + M[r + 1] * c[1] + M[r + 2] * c[2] + M[r + 3]), long = axes.indexOf(Math.max(...axes));
        const rest = Math.hypot(...axes.filter((_, j) => j !== long)), count = Math.min(24, Math.ceil(axes[long] * k) + 1);   // along its longest side
        for (let s = 0; s < count; s++) {
          const t = count > 1 ? (2 * s / (count - 1) - 1) * half[long] : 0;
          mark([M[long] * t + at[0], M[4 + long] * t + at[1], M[8 + long] * t + at[2]], count > 1 ? rest + axes[long] / (count - 1) : Math.hypot(rest, axes[long]));
        }
      }
    });
    for (let i = 0; i + 2 < FORM.n; i += 90) mark([FORM.data[i], FORM.data[i + 1], FORM.data[i + 2]], .5 * wide / TILES);
    const data = [], d = 2 / TILES;
    for (let i = 0; i < TILES; i++) for (let j = 0; j < TILES; j++) if (on[i * TILES + j]) {
      const x = i * d - 1, y = j * d - 1;
      data.push(x, y, 0, x + d, y, 0, x + d, y + d, 0, x, y, 0, x + d, y + d, 0, x, y + d, 0);
    }
    return new Float32Array(data);
  }

  // the grid of the floor: lines in short pieces, which fade towards the horizon
  const REACH = 3.2 * S.radius, lines = (() => {
    const n = Math.ceil(REACH / S.grid) + 5, pieces = 14, data = [];
    for (let i = -n; i <= n; i++) for (let k = 0; k < pieces; k++) {
      const x = i * S.grid, a = (2 * k / pieces - 1) * n * S.grid, b = (2 * (k + 1) / pieces - 1) * n * S.grid, w = i % 5 ? .55 : 1;
      data.push(x, a, w, x, b, w, a, x, w, b, x, w);
    }
    const vao = gl.createVertexArray();
    gl.bindVertexArray(vao); buffer(gl.ARRAY_BUFFER, new Float32Array(data));
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    gl.bindVertexArray(null);
    return {vao, count: data.length / 3};
  })();

  const plain = () => { gl.vertexAttrib4f(2, 1, 0, 0, 0); gl.vertexAttrib4f(3, 0, 1, 0, 0); gl.vertexAttrib4f(4, 0, 0, 1, 0); gl.vertexAttrib1f(6, -9); };
  function instances(which) {
    for (const m of meshes) {
      const first = which === "clear" ? m.solid : 0, count = which === "clear" ? m.clear : which === "dark" ? m.dark : m.solid;
      if (!count) continue;
      gl.bindVertexArray(m.vao);
      if (first) {
        gl.bindBuffer(gl.ARRAY_BUFFER, m.instances);
        LAYOUT.forEach(([at, n, o]) => gl.vertexAttribPointer(at, n, gl.FLOAT, false, stride, o + stride * first));
        gl.vertexAttribPointer(5, 4, gl.UNSIGNED_BYTE, true, stride, 48 + stride * first);
      }
      gl.drawElementsInstanced(gl.TRIANGLES, m.indices, m.type, 0, count);
      if (first) {
        LAYOUT.forEach(([at, n, o]) => gl.vertexAttribPointer(at, n, gl.FLOAT, false, stride, o));
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
  function draw(look) {
    pose();
    for (const f of forms) { gl.bindBuffer(gl.ARRAY_BUFFER, f.own); gl.bufferData(gl.ARRAY_BUFFER, f.g.data.subarray(0, f.g.n), gl.DYNAMIC_DRAW); }
    const floored = look.floor, at = follow >= 0 || S.follow >= 0 ? cam.target : [0, 0, 0], middle = add(at, UP, -dot(at, UP));
    if (floored) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
      gl.viewport(0, 0, SHADOW, SHADOW);
      gl.disable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
      gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT);
      gl.useProgram(shade.program);
      gl.uniform3fv(shade.u("e1"), E1); gl.uniform3fv(shade.u("e2"), E2); gl.uniform3fv(shade.u("up"), UP); gl.uniform3fv(shade.u("sun"), sun);
      gl.uniform3fv(shade.u("middle"), middle);
      gl.uniform1f(shade.u("level"), S.floor); gl.uniform1f(shade.u("reach"), wide);
      instances("dark"); form(forms[0], shade);
      gl.bindFramebuffer(gl.FRAMEBUFFER, null);
      gl.bindTexture(gl.TEXTURE_2D, dim); gl.generateMipmap(gl.TEXTURE_2D);
    }
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND); gl.depthMask(true);
    gl.useProgram(solid.program);
    gl.uniformMatrix4fv(solid.u("view"), false, cam.matrix);
    gl.uniform3fv(solid.u("eye"), cam.eye); gl.uniform3fv(solid.u("up"), UP); gl.uniform3fv(solid.u("back"), cam.back);
    gl.uniform3fv(solid.u("key"), unit(add(key, add(cam.back, cam.right, -.35), .55)));
    gl.uniform1f(solid.u("dark"), look.dark ? 1 : 0); gl.uniform1f(solid.u("hot"), look.hot); gl.uniform1f(solid.u("lit"), 1);
    gl.uniform1f(solid.u("flatView"), cam.flat ? 1 : 0);
    instances("solid"); form(forms[0], solid);
    gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    if (floored) {
      const below = dot(cam.eye, UP) < S.floor, o = add(middle, S.centre);
      gl.depthMask(false);
      for (const p of [grid, floor]) {
        if (p === floor && below) continue;
        gl.useProgram(p.program);
        gl.uniformMatrix4fv(p.u("view"), false, cam.matrix);
        gl.uniform3fv(p.u("e1"), E1); gl.uniform3fv(p.u("e2"), E2); gl.uniform3fv(p.u("up"), UP); gl.uniform3fv(p.u("middle"), middle);
        gl.uniform1f(p.u("level"), S.floor);
        if (p === grid) {
          gl.uniform1f(p.u("reach"), REACH); gl.uniform1f(p.u("weight"), (look.dark ? .3 : .42) * (below ? .3 : 1));
          gl.uniform3fv(p.u("ink"), look.dark ? [.62, .7, .82] : [.3, .36, .44]);
          gl.uniform2f(p.u("shift"), dot(o, E1) % (5 * S.grid), dot(o, E2) % (5 * S.grid));
          gl.bindVertexArray(lines.vao); gl.drawArrays(gl.LINES, 0, lines.count);
        } else {
          gl.uniform1f(p.u("wide"), wide); gl.uniform1f(p.u("dark"), look.dark ? 1 : 0); gl.uniform1i(p.u("shade"), 0);
          const data = shaded(middle);
          gl.bindVertexArray(tiles.vao); gl.bindBuffer(gl.ARRAY_BUFFER, tiles.own); gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
          gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(-2, -4);             // also on a road that lies on the floor
          gl.drawArrays(gl.TRIANGLES, 0, data.length / 3);
          gl.disable(gl.POLYGON_OFFSET_FILL);
        }
      }
      gl.useProgram(solid.program);
    }
    gl.depthMask(true);
    form(forms[1], solid);
    gl.depthMask(false);
    instances("clear");
    gl.depthMask(true);
    if (TOP.n) { gl.clear(gl.DEPTH_BUFFER_BIT); form(forms[2], solid); }
  }
  return {name: "WebGL2", gl, show, draw, resize() {}};
}
