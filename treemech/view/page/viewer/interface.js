// What is visible, the list of bodies, the menus, pointer and keyboard.
const SHOW = {names: "Names (N)", traces: "Traces (T)", forces: "Forces in connections (F)", moments: "Moments in connections (M)", loads: "Loads of elements (E)",
  com: "Centres of mass", velocity: "Velocities (V)", frames: "Body axes", bodies: "Bodies", hinges: "Hinges", elements: "Springs, cords, constraints",
  surfaces: "Surfaces", ground: "Ground symbols", floor: "Floor (G)"};
const show = {bodies: true, hinges: true, elements: true, surfaces: true, ground: true, floor: S.floored};
for (const name of ["names", "traces", "forces", "moments", "loads", "com", "velocity", "frames"]) show[name] = S.show.includes(name);
const HIDDEN = new Set();                                    // owners that are switched off
const hidden = owner => HIDDEN.has(owner);
let hot = -1, dirty = true, rebuilt = true, pointed = "";
const changed = () => { dirty = true; };
const visible = item => !hidden(item.owner) && show[S.layers[item.layer]] !== false;

// ---------------------------------------------------------------- theme
const dark = () => document.documentElement.dataset.theme === "dark";
function setTheme(name) { document.documentElement.dataset.theme = name; changed(); }
setTheme(S.theme !== "auto" ? S.theme : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

// ---------------------------------------------------------------- the list of bodies
const LEGEND = S.parts.map((b, k) => ({...b, part: k})).filter(b => b.body);
const ownerOf = (name, kind) => S.owners.findIndex(o => o[0] === name && o[1] === kind);
el("title").textContent = S.name;
for (const b of LEGEND) {
  const row = document.createElement("li"), name = document.createElement("button"), swatch = document.createElement("i"), text = document.createElement("span");
  const trail = document.createElement("button"), eye = document.createElement("button"), owner = ownerOf(b.name, "body");
  swatch.style.background = b.colour; text.textContent = b.name; text.className = "name";
  name.append(swatch, text); name.title = "follow " + b.name;
  name.onclick = () => { follow = follow === b.part ? -1 : b.part; if (follow < 0) cam.target = [0, 0, 0]; mark(); };
  trail.textContent = "∿"; trail.title = "path of " + b.name; trail.className = "trail";
  trail.onclick = () => { const own = TRACES.filter(t => t.part === b.part + 1), on = !own.some(t => t.on); for (const t of own) t.on = on; mark(); };
  eye.textContent = "●"; eye.title = "hide or show " + b.name; eye.className = "eye";
  eye.onclick = () => { HIDDEN.has(owner) ? HIDDEN.delete(owner) : HIDDEN.add(owner); rebuilt = true; mark(); };
  row.onmouseenter = () => { hot = owner; changed(); }; row.onmouseleave = () => { hot = -1; changed(); };
  row.append(name, trail, eye);
  Object.assign(b, {row, owner, trail, eye});
  el("legend").append(row);
}
function mark() {
  for (const b of LEGEND) {
    b.row.className = follow === b.part ? "followed" : "";
    b.trail.classList.toggle("on", TRACES.some(t => t.part === b.part + 1 && t.on));
    b.eye.classList.toggle("on", !HIDDEN.has(b.owner));
  }
  changed();
}

// ---------------------------------------------------------------- menus
const HAS = {forces: ARROWS.some(a => a.kind === "force"), moments: ARROWS.some(a => a.kind === "moment"), loads: ARROWS.some(a => a.kind === "load")};
for (const [name, text] of Object.entries(SHOW)) {
  if (HAS[name] === false) continue;
  const row = document.createElement("label"), box = document.createElement("input");
  box.type = "checkbox"; box.id = "show-" + name; box.checked = show[name];
  box.onchange = () => setShow(name, box.checked);
  row.append(box, document.createTextNode(" " + text));
  el("shows").append(row);
}
function setShow(name, on) {
  if (HAS[name] === false) return;
  show[name] = on; el("show-" + name).checked = on; rebuilt = true;
  if (name === "traces") { for (const t of TRACES) t.on = on; mark(); }
  changed();
}
const toggle = name => setShow(name, !show[name]);
for (const [button, panel] of [["more", "shows"], ["pick", "picker"], ["help", "keys"]]) el(button).onclick = event => {
  const was = el(panel).hidden;
  for (const p of ["shows", "picker", "keys"]) el(p).hidden = true;
  el(panel).hidden = !was; event.stopPropagation();
  if (panel === "picker" && was) listSignals();
};
el("find").oninput = listSignals;
function setChart(on) { chart.hidden = !on || !SIGNALS.length; el("charted").setAttribute("aria-pressed", String(!chart.hidden)); if (!chart.hidden) { if (!chosen().length) SIGNALS[0].on = true; listChosen(); } resize(); }
el("charted").onclick = () => setChart(chart.hidden);
el("closed").onclick = () => setChart(false);
if (!SIGNALS.length) el("charted").hidden = true;
for (const name of Object.keys(CORNER)) { const o = document.createElement("option"); o.value = name; o.textContent = {auto: "View"}[name] || name; el("views").append(o); }
el("views").onchange = () => { setView(el("views").value); mark(); };
el("themed").onclick = () => setTheme(dark() ? "light" : "dark");

// ---------------------------------------------------------------- time
const SPEEDS = [...new Set([.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, S.speed])].sort((a, b) => a - b);
for (const s of SPEEDS) { const o = document.createElement("option"); o.value = s; o.textContent = s + "×"; el("speed").append(o); }
let time = T0, playing = false, loop = true;
function setTime(t) { time = clamp(t, T0, T1); changed(); }
function setPlaying(on) {
  playing = on && T1 > T0;
  if (playing && time >= T1) time = T0;
  el("play").innerHTML = playing ? '<svg width="14" height="14"><path d="M1 0h4v14H1zM9 0h4v14H9z"/></svg>' : '<svg width="14" height="14"><path d="M2 0l12 7-12 7z"/></svg>';
  changed();
}
el("slider").min = T0; el("slider").max = T1; el("slider").step = (T1 - T0) / 2000 || 1;
el("slider").oninput = () => setTime(+el("slider").value);
el("play").onclick = () => setPlaying(!playing);
el("speed").value = S.speed;
const setLoop = on => { loop = on; el("loop").setAttribute("aria-pressed", String(on)); };
el("loop").onclick = () => setLoop(!loop);
setLoop(true);

// ---------------------------------------------------------------- pointer
const canvas = el("view"), POINTERS = new Map();
canvas.addEventListener("pointerdown", e => { canvas.setPointerCapture(e.pointerId); POINTERS.set(e.pointerId, [e.clientX, e.clientY]); canvas.focus(); canvas.classList.add("busy");
  for (const p of ["shows", "picker", "keys"]) el(p).hidden = true; });
canvas.addEventListener("pointerup", e => { POINTERS.delete(e.pointerId); if (!POINTERS.size) canvas.classList.remove("busy"); });
canvas.addEventListener("pointercancel", e => POINTERS.delete(e.pointerId));
canvas.addEventListener("pointermove", e => {
  const last = POINTERS.get(e.pointerId);
  if (!last) { point(e.clientX, e.clientY); return; }
  const dx = e.clientX - last[0], dy = e.clientY - last[1];
  if (POINTERS.size === 2) {
    const other = [...POINTERS].find(([id]) => id !== e.pointerId)[1], before = Math.hypot(last[0] - other[0], last[1] - other[1]);
    zoom(Math.hypot(e.clientX - other[0], e.clientY - other[1]) / (before || 1)); pan(dx / 2, dy / 2);
  } else if (e.shiftKey || e.buttons & 6) pan(dx, dy);
  else { cam.az -= .0065 * dx; cam.el = clamp(cam.el + .0065 * dy, -Math.PI / 2 + 1e-4, Math.PI / 2 - 1e-4); }
  POINTERS.set(e.pointerId, [e.clientX, e.clientY]);
  changed();
});
function pan(dx, dy) { follow = -1; const k = cam.dist / cam.focal; cam.target = add(add(cam.target, cam.right, -dx * k), cam.up, dy * k); mark(); }
function zoom(k) { cam.zoom = clamp(cam.zoom * k, .05, 200); changed(); }
canvas.addEventListener("wheel", e => { e.preventDefault(); zoom(Math.exp(-.0013 * e.deltaY * (e.deltaMode ? 24 : 1))); }, {passive: false});
canvas.addEventListener("dblclick", () => { if (hot >= 0 && S.owners[hot][1] === "body") { const b = LEGEND.find(x => x.owner === hot); if (b) { follow = b.part; mark(); } } });
canvas.addEventListener("contextmenu", e => e.preventDefault());
function picked(x, y) {                                      // the owner of the nearest item under the pointer: boxes around its mesh
  const [from, to] = ray(x, y);
  let best = Infinity, found = -1;
  for (const item of ITEMS) {
    if (!visible(item) || LOST[item.part]) continue;
    const P = POSES.subarray(16 * item.part, 16 * item.part + 16), M = item.map, low = MESHES[item.mesh].low, high = MESHES[item.mesh].high;
    const columns = [0, 1, 2].map(j => [0, 4, 8].map(r => P[r] * M[j] + P[r + 1] * M[4 + j] + P[r + 2] * M[8 + j]));
    const o = spot(item.part, [M[3], M[7], M[11]]), d = add(from, o, -1), det = dot(columns[0], cross(columns[1], columns[2]));
    if (Math.abs(det) < 1e-30) continue;
    const solve = v => [dot(v, cross(columns[1], columns[2])) / det, dot(v, cross(columns[2], columns[0])) / det, dot(v, cross(columns[0], columns[1])) / det];
    const a = solve(d), b = solve(to);
    let enter = 0, leave = Infinity;
    for (let k = 0; k < 3; k++) {
      const u = (low[k] - 1e-9 - a[k]) / b[k], w = (high[k] + 1e-9 - a[k]) / b[k];
      enter = Math.max(enter, Math.min(u, w)); leave = Math.min(leave, Math.max(u, w));
    }
    if (enter < leave && enter < best) { best = enter; found = item.owner; }
  }
  return found;
}
function point(x, y) {
  const owner = picked(x, y), tip = el("tip");
  if (owner !== hot) { hot = owner; changed(); }
  const [name, kind] = owner >= 0 ? S.owners[owner] : ["", ""];
  tip.hidden = !name || owner === 0;
  tip.textContent = kind === "ground" ? "ground" : name + "  ·  " + kind;
  tip.style.left = Math.min(x + 14, W - 220) + "px"; tip.style.top = y + 14 + "px";
}
canvas.addEventListener("pointerleave", () => { hot = -1; el("tip").hidden = true; changed(); });

// ---------------------------------------------------------------- keyboard
const KEYS = {" ": () => setPlaying(!playing), ArrowRight: e => step(e.shiftKey ? 10 : 1), ArrowLeft: e => step(e.shiftKey ? -10 : -1), Home: () => setTime(T0), End: () => setTime(T1),
  ArrowUp: () => faster(1), ArrowDown: () => faster(-1), l: () => setLoop(!loop), n: () => toggle("names"), t: () => toggle("traces"), f: () => toggle("forces"), m: () => toggle("moments"),
  e: () => toggle("loads"), v: () => toggle("velocity"), g: () => toggle("floor"), c: () => setChart(chart.hidden), d: () => setTheme(dark() ? "light" : "dark"), r: () => { setView(S.view); mark(); },
  o: () => { cam.flat = !cam.flat; changed(); }, "+": () => zoom(1.2), "-": () => zoom(1 / 1.2), "?": () => { el("keys").hidden = !el("keys").hidden; },
  Escape: () => { for (const p of ["shows", "picker", "keys"]) el(p).hidden = true; follow = -1; mark(); }};
Object.keys(CORNER).slice(1).forEach((name, k) => { KEYS[String(k + 1)] = () => { setView(name); mark(); }; });
const step = n => { setPlaying(false); setTime(time + n * (T1 - T0) / 200); };
function faster(n) { const box = el("speed"); box.selectedIndex = clamp(box.selectedIndex + n, 0, SPEEDS.length - 1); }
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || (e.target.tagName === "INPUT" && e.target.type === "search")) return;
  if (e.target.tagName === "SELECT" && e.key.startsWith("Arrow")) return;
  const act = KEYS[e.key] || KEYS[e.key.toLowerCase()];
  if (act) { e.preventDefault(); act(e); }
});
