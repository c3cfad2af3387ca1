// Inflate (RFC 1951): the data of the page are deflated; this needs no interface of the browser.
function inflate(src, size) {
  const out = new Uint8Array(size);
  let at = 0, bits = 0, held = 0, n = 0;
  const need = k => {
    while (bits < k) { held |= src[at++] << bits; bits += 8; }
    const v = held & ((1 << k) - 1);
    held >>>= k; bits -= k;
    return v;
  };
  const tree = lengths => {                                  // counts of the lengths, symbols in the order of their codes
    const count = new Uint16Array(16), start = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
    for (const l of lengths) count[l]++;
    count[0] = 0;
    for (let l = 1; l < 16; l++) start[l] = start[l - 1] + count[l - 1];
    lengths.forEach((l, s) => { if (l) symbols[start[l]++] = s; });
    return {count, symbols};
  };
  const decode = t => {
    let code = 0, first = 0, index = 0;
    for (let l = 1; l < 16; l++) {
      code |= need(1);
      const c = t.count[l];
      if (code - c < first) return t.symbols[index + code - first];
      index += c; first = (first + c) << 1; code <<= 1;
    }
    throw new Error("the data of this page are damaged");
  };
  const LENGTH = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
  const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
  const BACK = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577];
  const BACK_BITS = BACK.map((_, k) => Math.max(0, (k >> 1) - 1));
  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  for (let last = 0; !last;) {
    last = need(1);
    const kind = need(2);
    if (kind === 0) {
      held = bits = 0;
      const length = src[at] | src[at + 1] << 8;
      out.set(src.subarray(at + 4, at + 4 + length), n);
      at += 4 + length; n += length;
      continue;
    }
    let literals, distances;
    if (kind === 1) {
      literals = tree(Array.from({length: 288}, (_, k) => k < 144 ? 8 : k < 256 ? 9 : k < 280 ? 7 : 8));
      distances = tree(new Array(30).fill(5));
    } else {
      const nl = need(5) + 257, nd = need(5) + 1, nc = need(4) + 4, codes = new Array(19).fill(0), lengths = [];
      for (let k = 0; k < nc; k++) codes[ORDER[k]] = need(3);
      const t = tree(codes);
      while (lengths.length < nl + nd) {
        const s = decode(t);
        if (s < 16) { lengths.push(s); continue; }
        const value = s === 16 ? lengths[lengths.length - 1] : 0;
        for (let k = s === 16 ? 3 + need(2) : s === 17 ? 3 + need(3) : 11 + need(7); k > 0; k--) lengths.push(value);
      }
      literals = tree(lengths.slice(0, nl)); distances = tree(lengths.slice(nl));
    }
    for (;;) {
      const s = decode(literals);
      if (s === 256) break;
      if (s < 256) { out[n++] = s; continue; }
      const length = LENGTH[s - 257] + need(LENGTH_BITS[s - 257]), d = decode(distances), back = BACK[d] + need(BACK_BITS[d]);
      for (let k = 0; k < length; k++, n++) out[n] = out[n - back];
    }
  }
  return out;
}
