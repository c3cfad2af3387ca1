// Poses at any time: cubics between frames from places and velocities, as in motion/interpolation.py.
const T = array(S.frames.t), NF = T.length, NP = S.parts.length, ND = S.derived.length, PARTS = 1 + NP + ND;
const FRAME = {p: Float32Array.from(array(S.frames.position), x => x === -2147483648 ? NaN : x * S.frames.unit), e: array(S.frames.attitude), v: array(S.frames.velocity), w: array(S.frames.spin)};
const T0 = T[0], T1 = T[NF - 1];
const POSES = new Float32Array(16 * PARTS);                  // rows of (R | p), and the tint, of every part now

const frameAt = t => { let lo = 0, hi = NF - 1;
  while (lo < hi) { const mid = (lo + hi + 1) >> 1; if (T[mid] <= t) lo = mid; else hi = mid - 1; } return lo; };

const qmul = (a, b) => [a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
  a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]];
function qexp(v, s) {
  const angle = Math.abs(s) * size(v), k = angle < 1e-9 ? .5 * s : Math.sin(.5 * angle) / angle * s;
  return [Math.cos(.5 * angle), k * v[0], k * v[1], k * v[2]];
}
function qlog(e, guess) {                                    // the rotation vector nearest to a guess: whole turns are open
  if (e[0] < 0) e = e.map(x => -x);
  const s = Math.hypot(e[1], e[2], e[3]), angle = 2 * Math.atan2(s, e[0]);
  const axis = s > 1e-9 ? [e[1] / s, e[2] / s, e[3] / s] : unit(guess);
  const turns = Math.round((dot(axis, guess) - angle) / (2 * Math.PI));
  return times(angle + 2 * Math.PI * turns, axis);
}

const frameQuat = (i, part) => { const k = 4 * NP * i + part, q = [FRAME.e[k], FRAME.e[k + NP], FRAME.e[k + 2 * NP], FRAME.e[k + 3 * NP]];
  const n = Math.hypot(...q) || 1; return q.map(x => x / n); };
const frame3 = (a, i, part, scale) => { const k = 3 * NP * i + part; return [a[k] * scale, a[k + NP] * scale, a[k + 2 * NP] * scale]; };

// Position and Euler parameters of a recorded part at time t, relative to the centre; null where the motion is lost.
function poseAt(part, t) {
  const i = frameAt(t), j = Math.min(i + 1, NF - 1), h = T[j] - T[i], s = h > 0 ? clamp((t - T[i]) / h, 0, 1) : 0;
  const a = frame3(FRAME.p, i, part, 1), b = frame3(FRAME.p, j, part, 1);
  if (!Number.isFinite(a[0]) || !Number.isFinite(b[0])) return s ? null : Number.isFinite(a[0]) ? {p: a, q: frameQuat(i, part)} : null;
  if (!s) return {p: a, q: frameQuat(i, part)};
  const va = frame3(FRAME.v, i, part, S.frames.speed[part] * h), vb = frame3(FRAME.v, j, part, S.frames.speed[part] * h), r = 1 - s;
  const p = [0, 1, 2].map(k => r * r * (1 + 2 * s) * a[k] + s * r * r * va[k] + s * s * (3 - 2 * s) * b[k] - s * s * r * vb[k]);
  const wa = frame3(FRAME.w, i, part, S.frames.rate[part] * h / 3), wb = frame3(FRAME.w, j, part, S.frames.rate[part] * h / 3);
  const e0 = frameQuat(i, part), e1 = frameQuat(j, part);
  const between = qmul([e0[0], -e0[1], -e0[2], -e0[3]], e1);
  const middle = qlog(qmul(qmul(qexp(wa, -1), between), qexp(wb, -1)), times(.5, add(wa, wb)));
  let q = qmul(e0, qexp(wa, 1 - r * r * r));
  q = qmul(q, qexp(middle, s * s * (3 - 2 * s)));
  return {p, q: qmul(q, qexp(wb, s * s * s))};
}

function setPose(part, x, y, z, p) {                         // columns of the map, and where its origin is
  const k = 16 * part;
  for (let i = 0; i < 3; i++) { POSES[k + 4 * i] = x[i]; POSES[k + 4 * i + 1] = y[i]; POSES[k + 4 * i + 2] = z[i]; POSES[k + 4 * i + 3] = p[i]; }
}
const column = (part, j) => [POSES[16 * part + j], POSES[16 * part + 4 + j], POSES[16 * part + 8 + j]];
function spot(part, o) {                                     // where a point of a part is now
  const k = 16 * part, P = POSES;
  return [P[k] * o[0] + P[k + 1] * o[1] + P[k + 2] * o[2] + P[k + 3], P[k + 4] * o[0] + P[k + 5] * o[1] + P[k + 6] * o[2] + P[k + 7],
    P[k + 8] * o[0] + P[k + 9] * o[1] + P[k + 10] * o[2] + P[k + 11]];
}
const turned = (part, d) => add(spot(part, d), column(part, 3), -1);

const ORIGIN = times(-1, S.centre);                          // of the world, as seen from the centre of the scene
const LOST = new Uint8Array(PARTS);
function placeParts(t) {
  setPose(0, [1, 0, 0], [0, 1, 0], [0, 0, 1], ORIGIN);
  for (let part = 0; part < NP; part++) {
    const pose = poseAt(part, t);
    LOST[part + 1] = pose ? 0 : 1;
    if (!pose) { setPose(part + 1, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]); continue; }
    const [w, x, y, z] = pose.q;
    setPose(part + 1, [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
      [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], pose.p);
  }
  S.derived.forEach((d, k) => {
    const part = 1 + NP + k, lost = d.spots.some(s => LOST[s[0]]);
    LOST[part] = lost ? 1 : 0;
    if (lost) { setPose(part, [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]); return; }
    const [a, b, c] = d.spots.map(s => spot(s[0], s[1])), along = add(b, a, -1);
    if (d.kind === "triangle") { const e = add(c, a, -1); setPose(part, along, e, unit(cross(along, e)), a); return; }
    const z = size(along) ? unit(along) : [0, 0, 1], side = turned(d.spots[0][0], d.side);
    let x = add(side, z, -dot(side, z));
    x = size(x) > 1e-9 ? unit(x) : across(z);
    setPose(part, x, cross(z, x), d.kind === "stretch" ? along : z, a);
  });
  for (const tint of TINTS) if (tint.part >= 0) {
    const k = 16 * tint.part, share = blend(tint, t);
    POSES[k + 12] = tint.rgb[0]; POSES[k + 13] = tint.rgb[1]; POSES[k + 14] = tint.rgb[2]; POSES[k + 15] = share;
  }
}

// ---------------------------------------------------------------- quantities over the frames
const TINTS = S.tints.map(x => ({...x, rgb: rgb(x.colour), values: array(x.values)}));
function blend(tint, t) {
  const i = frameAt(t), j = Math.min(i + 1, NF - 1), h = T[j] - T[i], s = h > 0 ? clamp((t - T[i]) / h, 0, 1) : 0;
  return ((1 - s) * tint.values[i] + s * tint.values[j]) / 255;
}
const ARROWS = S.arrows.map(x => ({...x, values: array(x.vectors)}));
function arrowAt(arrow, t) {
  const i = frameAt(t), j = Math.min(i + 1, NF - 1), h = T[j] - T[i], s = h > 0 ? clamp((t - T[i]) / h, 0, 1) : 0, a = arrow.values;
  return [0, 1, 2].map(k => ((1 - s) * a[3 * i + k] + s * a[3 * j + k]) * arrow.unit);
}

// The points of a curve now (a list of points), as in motion/posing.py.
const CURVES = S.curves.map(x => ({...x, rgb: rgb(x.colour), data: x.points && array(x.points)}));
function curvePoints(c, t) {
  const ends = c.spots.map(s => spot(s[0], s[1]));
  if (c.spots.some(s => LOST[s[0]])) return [];
  if (c.kind === "way") return ends;
  if (c.kind === "bend") {
    const [a, b] = ends, length = size(add(b, a, -1)), ta = times(length, turned(c.spots[0][0], c.tangents[0]));
    const tb = times(length, turned(c.spots[1][0], c.tangents[1])), out = [];
    for (let k = 0; k <= 16; k++) {
      const s = k / 16, r = 1 - s;
      out.push([0, 1, 2].map(i => r * r * (1 + 2 * s) * a[i] + s * r * r * ta[i] + s * s * (3 - 2 * s) * b[i] - s * s * r * tb[i]));
    }
    return out;
  }
  const n = c.count, i = clamp(frameAt(t), 0, Math.max(NF - 2, 0)), j = Math.min(i + 1, NF - 1), h = T[j] - T[i] || 1;
  const s = clamp((t - T[i]) / h, 0, 1), r = 1 - s, D = c.data, at = (f, k) => D[3 * n * f + k] * c.unit + c.origin[k % 3];
  const slope = (f, k) => {                                  // through three neighbours
    if (NF < 2) return 0;
    if (f === 0 || f === NF - 1) { const g = f ? f - 1 : 0; return (at(g + 1, k) - at(g, k)) / (T[g + 1] - T[g] || 1); }
    const ha = T[f] - T[f - 1], hb = T[f + 1] - T[f], a = (at(f, k) - at(f - 1, k)) / (ha || 1), b = (at(f + 1, k) - at(f, k)) / (hb || 1);
    return a + ha / (ha + hb || 1) * (b - a);
  };
  const out = [];
  for (let m = 0; m < n; m++) out.push([0, 1, 2].map(x => { const k = 3 * m + x;
    return r * r * (1 + 2 * s) * at(i, k) + s * r * r * h * slope(i, k) + s * s * (3 - 2 * s) * at(j, k) - s * s * r * h * slope(j, k); }));
  if (ends.length === 2) { out[0] = ends[0]; out[n - 1] = ends[1]; }
  return out;
}

// ---------------------------------------------------------------- paths of points
const TRACES = S.traces.map(x => ({...x, on: x.shown, path: null}));
const TRACE_POINTS = clamp(2 * NF, 200, 900);
function tracePath(trace) {
  if (!trace.path) {
    trace.path = [];
    for (let k = 0; k <= TRACE_POINTS; k++) {
      const pose = poseAt(trace.part - 1, T0 + (T1 - T0) * k / TRACE_POINTS), o = trace.offset;
      if (!pose) { trace.path.push(null); continue; }
      const q = pose.q, v = [q[1], q[2], q[3]], c = times(2, cross(v, o));
      trace.path.push(add(add(add(pose.p, o), c, q[0]), cross(v, c)));
    }
  }
  return trace.path;
}
