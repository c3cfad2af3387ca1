// The fallback without WebGL2: the same triangles, painted from the farthest to the nearest on a plain canvas.
function makeCanvas(canvas) {
  const ctx = canvas.getContext("2d");
  const key = unit(add(add(times(.55, UP), E1, -.35), E2, -.62));
  let items = [];
  const paint = (list, points, n, colour, alpha, lit, front) => {
    const screen = points.map(project);
    if (screen.some(p => !p)) return;
    let m = n, v = unit(add(cam.eye, points[0], -1));
    if (dot(m, v) < 0) { if (alpha > .99 && lit) return; m = times(-1, m); }
    const k = lit ? .45 + .2 * (.5 + .5 * dot(m, UP)) + .42 * Math.max(0, dot(m, key)) : 1;
    list.push({depth: screen.reduce((s, p) => s + p[2], 0) / screen.length - (front ? 1e9 : 0), screen, alpha,
      fill: "rgba(" + colour.map(x => Math.round(255 * Math.min(1, x * k))).join() + "," + alpha + ")"});
  };
  function draw(look) {
    const ratio = canvas.width / W;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, W, H);
    if (look.floor) {
      ctx.strokeStyle = look.dark ? "rgba(165,185,215,.18)" : "rgba(70,85,105,.18)"; ctx.lineWidth = 1;
      const n = Math.ceil(1.6 * S.radius / S.grid), o = times(-1, S.centre), base = add(o, UP, S.floor - dot(o, UP));
      const mid = follow >= 0 || S.follow >= 0 ? cam.target : [0, 0, 0], i0 = Math.round(dot(add(mid, o, -1), E1) / S.grid), j0 = Math.round(dot(add(mid, o, -1), E2) / S.grid);
      const at = (i, j) => project(add(add(base, E1, (i + i0) * S.grid), E2, (j + j0) * S.grid));
      ctx.beginPath();
      for (let i = -n; i <= n; i++) for (const [a, b] of [[at(i, -n), at(i, n)], [at(-n, i), at(n, i)]]) if (a && b) { ctx.moveTo(a[0], a[1]); ctx.lineTo(b[0], b[1]); }
      ctx.stroke();
    }
    const list = [];
    for (const item of items) {
      if (LOST[item.part]) continue;
      const m = MESHES[item.mesh], M = item.map, count = m.vertices.length / 3, colour = [0, 1, 2].map(i => item.rgba[i] / 255), world = [];
      for (let i = 0; i < count; i++) {
        const v = m.vertices.subarray(3 * i, 3 * i + 3);
        world.push(spot(item.part, [0, 4, 8].map(r => M[r] * v[0] + M[r + 1] * v[1] + M[r + 2] * v[2] + M[r + 3])));
      }
      for (let i = 0; i < m.triangles.length; i += 3) {
        const [a, b, c] = [0, 1, 2].map(k => world[m.triangles[i + k]]), n = cross(add(b, a, -1), add(c, a, -1));
        if (size(n)) paint(list, [a, b, c], unit(n), colour, item.rgba[3] / 255, true);
      }
    }
    for (const g of [FORM, OVER, TOP]) for (const run of g.runs) for (let i = run.first; i + 2 < run.first + run.count; i += 3) {
      const [a, b, c] = [0, 1, 2].map(k => Array.from(g.data.subarray(6 * (i + k), 6 * (i + k) + 3)));
      paint(list, [a, b, c], Array.from(g.data.subarray(6 * i + 3, 6 * i + 6)), run.colour, run.alpha, run.lit, g === TOP);
    }
    list.sort((a, b) => b.depth - a.depth);
    ctx.lineWidth = .6; ctx.lineJoin = "round";
    for (const f of list) {
      ctx.beginPath();
      f.screen.forEach((p, i) => i ? ctx.lineTo(p[0], p[1]) : ctx.moveTo(p[0], p[1]));
      ctx.closePath();
      ctx.fillStyle = f.fill; ctx.fill();
      if (f.alpha > .99) { ctx.strokeStyle = f.fill; ctx.stroke(); }
    }
  }
  return {name: "canvas", show(visible) { items = ITEMS.filter(visible); }, draw, resize() {}};
}
