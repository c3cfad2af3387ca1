// Start, the loop of the drawing, and the state in the address: #t=1.5&view=top&theme=dark&show=names,forces&chart
let renderer = null, slow = 0, quality = 1, failure = "";
const FRAMES = [];                                           // times that drawings took [ms]
const asked = new URLSearchParams(location.hash.slice(1));
try { renderer = asked.has("canvas") ? null : makeGl(canvas); } catch (error) { failure = String(error); console.warn("no WebGL2: " + failure); }
let surface = canvas;
if (!renderer) {
  if (failure) { surface = canvas.cloneNode(); canvas.before(surface); surface.style.pointerEvents = "none"; }   // a canvas keeps its first kind of context
  renderer = makeCanvas(surface);
}
canvas.addEventListener("webglcontextlost", e => e.preventDefault());
canvas.addEventListener("webglcontextrestored", () => { renderer = makeGl(canvas); rebuilt = true; changed(); });

function resize() {
  W = innerWidth; H = innerHeight;
  SIDE = el("side").offsetWidth < .3 * W ? el("side").offsetWidth : 0;
  chart.style.bottom = el("bar").offsetHeight + 24 + "px";     // the bar takes several lines of a narrow window
  LOW = el("bar").offsetHeight + 26 + (chart.hidden || chart.classList.contains("beside") ? 0 : chart.offsetHeight + 10);
  const ratio = Math.min(window.devicePixelRatio || 1, 2) * quality;
  for (const c of new Set([canvas, surface])) { c.width = Math.max(1, Math.round(W * ratio)); c.height = Math.max(1, Math.round(H * ratio)); }
  renderer.resize(); changed();
}
addEventListener("resize", resize);

const labels = el("labels");
function drawLabels() {
  const ratio = window.devicePixelRatio || 1, ctx = labels.getContext("2d");
  labels.hidden = !show.names;
  if (!show.names) return;
  if (labels.width !== Math.round(W * ratio) || labels.height !== Math.round(H * ratio)) { labels.width = Math.round(W * ratio); labels.height = Math.round(H * ratio); }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0); ctx.clearRect(0, 0, W, H);
  ctx.textAlign = "center"; ctx.textBaseline = "middle"; ctx.lineJoin = "round";
  const style = getComputedStyle(document.documentElement), text = style.getPropertyValue("--text"), paper = style.getPropertyValue("--paper"), taken = [];
  const seen = S.labels.filter(l => !LOST[l.part]).map(l => ({l, p: project(spot(l.part, l.offset))})).filter(x => x.p);
  seen.sort((a, b) => (b.l.kind === "body") - (a.l.kind === "body"));      // bodies first; a name without a place is left out
  for (const {l, p} of seen) {
    ctx.font = (l.kind === "body" ? "600 13px" : "italic 12px") + " system-ui, sans-serif";
    const w = ctx.measureText(l.text).width / 2 + 3, x = p[0];
    let y = p[1] - (l.kind === "body" ? 0 : 17);
    const full = () => taken.some(b => Math.abs(b[0] - x) < b[2] + w && Math.abs(b[1] - y) < 14);
    for (let tries = 0; tries < 3 && full(); tries++) y -= 14;
    if (full()) continue;
    taken.push([x, y, w]);
    ctx.strokeStyle = paper; ctx.lineWidth = 4; ctx.strokeText(l.text, x, y);
    ctx.fillStyle = l.kind === "body" ? text : style.getPropertyValue("--soft");
    ctx.fillText(l.text, x, y);
  }
}
function drawAll() {
  const began = performance.now();
  placeParts(time);
  aim();
  formCurves(time, cam.eye, show);
  if (rebuilt) { renderer.show(visible); rebuilt = false; }
  renderer.draw({floor: show.floor, dark: dark(), hot});
  drawLabels(); drawChart(time);
  el("slider").value = time;
  el("clock").textContent = time.toFixed(T1 - T0 < 2 ? 3 : 2) + " s";
  FRAMES.push(performance.now() - began);
  if (FRAMES.length > 400) FRAMES.shift();
  dirty = false;
}
let last = 0;
function loopStep(now) {
  const gap = now - last;
  last = now;
  if (playing) {
    let t = time + Math.min(gap, 250) / 1000 * +el("speed").value;
    if (t >= T1) { if (loop) t = T0 + (t - T0) % (T1 - T0); else { t = T1; setPlaying(false); } }
    time = t; dirty = true;
    slow = gap > 55 ? slow + 1 : Math.max(0, slow - 1);     // a slow machine gets fewer pixels
    if (slow > 20 && quality > .5) { quality -= .25; slow = 0; resize(); }
  }
  if (dirty) drawAll();
  requestAnimationFrame(loopStep);
}

S.signals.length && setChart(SIGNALS.some(s => s.on));
if (!S.floored) show.floor = false;
setView(S.view);
if (asked.has("theme")) setTheme(asked.get("theme"));
if (asked.has("view")) setView(asked.get("view"));
for (const name of (asked.get("show") || "").split(",")) if (name in show) setShow(name, true);
if (asked.has("chart")) setChart(true);
if (asked.has("t")) setTime(+asked.get("t"));
resize(); mark(); listChosen();
setPlaying(!asked.has("t") && !asked.has("paused") && T1 > T0);
requestAnimationFrame(loopStep);
window.viewer = {scene: S, show, cam, times: T, frames: FRAMES, poseAt, project, spot, setTime, setPlaying, setView, setChart, setShow, signals: SIGNALS, picked, curves: CURVES, curvePoints,
  placeParts, draw: drawAll, get renderer() { return renderer.name; }, get gl() { return renderer.gl; }, get time() { return time; }, get playing() { return playing; }, ready: true};
