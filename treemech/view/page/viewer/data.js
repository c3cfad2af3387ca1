// The data of the page: a header (JSON) and arrays, packed by page/packing.py.
const el = id => document.getElementById(id);
const RAW = (() => {
  const node = el("data"), text = atob(node.textContent), packed = Uint8Array.from(text, c => c.charCodeAt(0));
  node.remove();
  return inflate(packed, +node.dataset.size).buffer;
})();
const HEAD = new DataView(RAW).getUint32(0, true);
const S = JSON.parse(new TextDecoder().decode(new Uint8Array(RAW, 4, HEAD)));

const TYPES = {f8: Float64Array, f4: Float32Array, i2: Int16Array, i4: Int32Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, u1: Uint8Array};
function array(ref) {                                        // the bytes of the numbers are stored rank by rank
  const [type, start, count] = ref, Type = TYPES[type], width = Type.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(RAW, 4 + HEAD + start, count * width), out = new Uint8Array(count * width);
  for (let b = 0, k = 0; b < width; b++) for (let i = b; i < out.length; i += width) out[i] = bytes[k++];
  return new Type(out.buffer);
}

// ---------------------------------------------------------------- small vectors
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
const times = (s, a) => [s * a[0], s * a[1], s * a[2]];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const size = a => Math.hypot(a[0], a[1], a[2]);
const unit = a => { const n = size(a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
const across = a => unit(cross(a, Math.abs(a[0]) < .6 * size(a) ? [1, 0, 0] : [0, 1, 0]));
const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255);
const E1 = S.basis[0], E2 = S.basis[1], UP = S.basis[2];     // horizontal, horizontal, up
