// Meshes of the scene, and the tubes, cones and ribbons that are made anew in every frame.
const MESHES = S.meshes.map(m => {
  const p = array(m.vertices), n = array(m.normals), count = p.length / 3, vertices = new Float32Array(3 * count);
  for (let i = 0; i < vertices.length; i++) vertices[i] = p[i] * m.unit[i % 3] + m.origin[i % 3];
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < vertices.length; i++) { low[i % 3] = Math.min(low[i % 3], vertices[i]); high[i % 3] = Math.max(high[i % 3], vertices[i]); }
  return {vertices, normals: n, triangles: array(m.triangles), low, high};
});
const ITEMS = (() => {
  const maps = array(S.items.maps), ids = array(S.items.ids), colours = array(S.items.colours), out = [];
  for (let i = 0; i < ids.length / 4; i++)
    out.push({mesh: ids[4 * i], part: ids[4 * i + 1], layer: ids[4 * i + 2], owner: ids[4 * i + 3], map: maps.subarray(12 * i, 12 * i + 12),
      rgba: colours.subarray(4 * i, 4 * i + 4)});
  return out;
})();

class Geometry {                                             // triangles of one colour after another; 7 numbers a vertex
  constructor() { this.data = new Float32Array(1 << 14); this.n = 0; this.runs = []; }
  clear() { this.n = 0; this.runs = []; }
  begin(colour, alpha = 1, lit = 1) { this.runs.push({first: this.n / 6, count: 0, colour, alpha, lit}); }
  vertex(p, n) {
    if (this.n + 6 > this.data.length) { const more = new Float32Array(2 * this.data.length); more.set(this.data); this.data = more; }
    this.data.set(p, this.n); this.data.set(n, this.n + 3);
    this.n += 6; this.runs[this.runs.length - 1].count++;
  }
  quad(a, b, c, d, na, nb, nc, nd) {
    this.vertex(a, na); this.vertex(b, nb); this.vertex(c, nc); this.vertex(a, na); this.vertex(c, nc); this.vertex(d, nd);
  }
  tube(points, radius, sides = 8) {                          // radius: a number, or a function of the share of the length
    points = points.filter((p, i) => !i || size(add(p, points[i - 1], -1)) > 1e-9 * S.radius);
    if (points.length < 2) return;
    const lengths = [0];
    for (let i = 1; i < points.length; i++) lengths.push(lengths[i - 1] + size(add(points[i], points[i - 1], -1)));
    const total = lengths[lengths.length - 1] || 1, r = typeof radius === "function" ? radius : () => radius;
    let e = null, ring = null;
    points.forEach((p, i) => {
      const z = unit(add(points[Math.min(i + 1, points.length - 1)], points[Math.max(i - 1, 0)], -1));
      e = e ? unit(add(e, z, -dot(e, z))) : across(z);
      if (!size(e)) e = across(z);
      const f = cross(z, e), now = [], k = r(lengths[i] / total);
      for (let s = 0; s <= sides; s++) {
        const a = 2 * Math.PI * s / sides, n = add(times(Math.cos(a), e), f, Math.sin(a));
        now.push([add(p, n, k), n]);
      }
      if (ring) for (let s = 0; s < sides; s++)
        this.quad(ring[s][0], ring[s + 1][0], now[s + 1][0], now[s][0], ring[s][1], ring[s + 1][1], now[s + 1][1], now[s][1]);
      if (i === 0 || i === points.length - 1) for (let s = 0; s < sides; s++) {
        const n = times(i ? 1 : -1, z);
        this.vertex(p, n); this.vertex(now[s][0], n); this.vertex(now[s + 1][0], n);
      }
      ring = now;
    });
  }
  cone(tip, direction, radius, sides = 12) {                 // its base a direction's length behind the tip
    const z = unit(direction), e = across(z), f = cross(z, e), base = add(tip, direction, -1);
    for (let s = 0; s < sides; s++) {
      const [p, q] = [s, s + 1].map(k => { const a = 2 * Math.PI * k / sides; return add(times(Math.cos(a), e), f, Math.sin(a)); });
      this.vertex(tip, unit(add(p, z, .4))); this.vertex(add(base, p, radius), unit(add(p, z, .4)));
      this.vertex(add(base, q, radius), unit(add(q, z, .4)));
      this.vertex(base, times(-1, z)); this.vertex(add(base, q, radius), times(-1, z)); this.vertex(add(base, p, radius), times(-1, z));
    }
  }
  arrow(from, vector, radius, heads = 1) {
    const length = size(vector), z = unit(vector), head = Math.min(5 * radius, .6 * length);
    this.tube([from, add(from, z, length - heads * .9 * head)], radius, 8);
    for (let k = 0; k < heads; k++) this.cone(add(from, z, length - .7 * k * head), times(head, z), 2.4 * radius);
  }
  ball(centre, radius, n = 10) {
    const at = (i, k) => { const a = 2 * Math.PI * i / n, b = Math.PI * k / (n / 2); return [Math.sin(b) * Math.cos(a), Math.sin(b) * Math.sin(a), Math.cos(b)]; };
    for (let i = 0; i < n; i++) for (let k = 0; k < n / 2; k++) {
      const c = [at(i, k), at(i, k + 1), at(i + 1, k + 1), at(i + 1, k)];
      this.quad(...c.map(x => add(centre, x, radius)), ...c);
    }
  }
  ribbon(points, width, eye) {                               // a flat band towards the eye
    let last = null;
    points.forEach((p, i) => {
      const a = points[Math.max(i - 1, 0)], b = points[Math.min(i + 1, points.length - 1)];
      if (!p || !a || !b) { last = null; return; }
      const view = add(eye, p, -1), side = unit(cross(add(b, a, -1), view)), now = [add(p, side, width), add(p, side, -width)], n = unit(view);
      if (last) this.quad(last[0], last[1], now[1], now[0], n, n, n, n);
      last = now;
    });
  }
}

// Everything that changes its form: curves, arrows, marks on demand, traces.
const FORM = new Geometry(), OVER = new Geometry(), TOP = new Geometry();   // with and without shadow, and in front of everything
const largest = kind => Math.max(...ARROWS.filter(a => a.kind === kind).map(a => a.usual), 1e-300);
const SCALE = {force: .45 * S.radius / Math.max(largest("force"), largest("load")), moment: .3 * S.radius / largest("moment")};
SCALE.load = SCALE.force;
const ARROW_COLOURS = {force: [.88, .2, .18], moment: [.55, .3, .85], load: [.95, .6, .05]};
function formCurves(t, eye, show) {
  FORM.clear(); OVER.clear(); TOP.clear();
  for (const c of CURVES) {
    if (hidden(c.owner) || !show[S.layers[c.layer]]) continue;
    let colour = c.rgb;
    if (c.tint >= 0) { const k = blend(TINTS[c.tint], t), w = TINTS[c.tint].rgb; colour = colour.map((x, i) => (1 - k) * x + k * w[i]); }
    FORM.begin(colour);
    const points = curvePoints(c, t), belly = c.belly, r = c.radius;
    if (belly && points.length > 1) {
      const dense = points.length > 12 ? points : densified(points, 24);
      FORM.tube(dense, s => r * (.7 + belly * Math.pow(Math.max(0, Math.sin(Math.PI * clamp((s - .12) / .76, 0, 1))), 1.5)), 10);
    } else FORM.tube(points, r, 8);
  }
  const thin = .006 * S.radius;
  for (const a of ARROWS) {
    if (!show[{force: "forces", moment: "moments", load: "loads"}[a.kind]] || LOST[a.part]) continue;
    const v = times(SCALE[a.kind] * S.arrowScale, arrowAt(a, t)), length = size(v);
    if (length < .015 * S.radius) continue;
    TOP.begin(ARROW_COLOURS[a.kind]);
    const p = spot(a.part, a.offset), w = length > 1.6 * S.radius ? times(1.6 * S.radius / length, v) : v;
    TOP.arrow(p, w, 1.3 * thin, a.kind === "moment" ? 2 : 1);
  }
  S.parts.forEach((b, k) => {
    if (!b.body || LOST[k + 1]) return;
    if (show.com && b.mass > 0) { TOP.begin([.1, .1, .12]); TOP.ball(spot(k + 1, b.com), 2.4 * thin); TOP.begin([.98, .8, .1]); TOP.ball(spot(k + 1, b.com), 2.6 * thin, 4); }
    if (show.frames) [[.85, .2, .2], [.2, .65, .25], [.2, .4, .9]].forEach((c, j) => {
      TOP.begin(c); TOP.arrow(spot(k + 1, [0, 0, 0]), times(.16 * S.span, column(k + 1, j)), .7 * thin); });
    if (show.velocity) {
      const h = 1e-4 * (T1 - T0 || 1), a = poseAt(k, Math.max(T0, t - h)), c = poseAt(k, Math.min(T1, t + h));
      if (a && c) { const rate = times(1 / (Math.min(T1, t + h) - Math.max(T0, t - h) || 1), add(comOf(c, b.com), comOf(a, b.com), -1));
        const v = times(.35 * S.radius / S.fastest, rate);
        if (size(v) > .015 * S.radius) { TOP.begin([.1, .6, .65]); TOP.arrow(spot(k + 1, b.com), v, thin); } }
    }
  });
  for (const trace of TRACES) {
    if (!trace.on) continue;
    const path = tracePath(trace), now = T1 > T0 ? Math.floor((t - T0) / (T1 - T0) * TRACE_POINTS) : 0, colour = rgb(S.parts[trace.part - 1].colour);
    OVER.begin(colour, .95, 0); OVER.ribbon([...path.slice(0, now + 1), spot(trace.part, trace.offset)], .0055 * S.radius, eye);
    OVER.begin(colour, .28, 0); OVER.ribbon(path.slice(now), .003 * S.radius, eye);
  }
}
function comOf(pose, o) { const q = pose.q, v = [q[1], q[2], q[3]], c = times(2, cross(v, o)); return add(add(add(pose.p, o), c, q[0]), cross(v, c)); }
function densified(points, n) {
  const out = [];
  for (let i = 0; i + 1 < points.length; i++) for (let k = 0; k < n; k++) out.push(add(times(1 - k / n, points[i]), points[i + 1], k / n));
  return [...out, points[points.length - 1]];
}
