// The strip chart: chosen signals over time, with a cursor at the present time.
const SIGNALS = S.signals.map((s, k) => ({...s, t: array(s.t), y: Float64Array.from(array(s.y), x => x === -32768 ? NaN : s.middle + s.step * x), on: s.shown, number: k}));
const INKS = ["#2f6fde", "#e8604c", "#2f9e77", "#a06cd5", "#e09a1a", "#d0609b", "#3aa5c9", "#7a8a2a"];
const chart = el("chart"), chartCanvas = el("curves");
const chosen = () => SIGNALS.filter(s => s.on);
const ink = s => INKS[chosen().indexOf(s) % INKS.length];
const short = x => x === 0 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(2) : String(+x.toPrecision(4));
function valueAt(s, t) {
  let lo = 0, hi = s.t.length - 1;
  while (lo < hi) { const mid = (lo + hi + 1) >> 1; if (s.t[mid] <= t) lo = mid; else hi = mid - 1; }
  const j = Math.min(lo + 1, s.t.length - 1), h = s.t[j] - s.t[lo], k = h > 0 ? clamp((t - s.t[lo]) / h, 0, 1) : 0;
  return (1 - k) * s.y[lo] + k * s.y[j];
}
function cubic(s, i, r) {                                    // between outputs i and i + 1, with slopes through three neighbours
  const h = s.t[i + 1] - s.t[i], d = (s.y[i + 1] - s.y[i]) / (h || 1);
  const slope = k => { const a = s.t[k] - s.t[k - 1], b = s.t[k + 1] - s.t[k], p = (s.y[k] - s.y[k - 1]) / (a || 1), q = (s.y[k + 1] - s.y[k]) / (b || 1);
    return a > 0 && b > 0 && Number.isFinite(p) && Number.isFinite(q) ? (b * p + a * q) / (a + b) : d; };
  const m = i ? slope(i) : d, n = i + 2 < s.t.length ? slope(i + 1) : d, w = 1 - r;
  return w * w * (1 + 2 * r) * s.y[i] + r * w * w * h * m + r * r * (3 - 2 * r) * s.y[i + 1] - r * r * w * h * n;
}
const nice = (span, n) => { const raw = span / n, p = 10 ** Math.floor(Math.log10(raw)); return [1, 2, 5, 10].map(k => k * p).find(x => x >= raw * .999) || raw; };
const plot = {left: 58, right: 12, top: 8, bottom: 20};
function drawChart(t) {
  if (chart.hidden) return;
  const w = chartCanvas.clientWidth, h = chartCanvas.clientHeight, ratio = window.devicePixelRatio || 1, ctx = chartCanvas.getContext("2d");
  if (chartCanvas.width !== Math.round(w * ratio)) chartCanvas.width = Math.round(w * ratio);
  if (chartCanvas.height !== Math.round(h * ratio)) chartCanvas.height = Math.round(h * ratio);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, w, h);
  const style = getComputedStyle(document.documentElement), text = style.getPropertyValue("--soft"), rim = style.getPropertyValue("--rim");
  const signals = chosen(), bounds = signals.map(s => { let a = Infinity, b = -Infinity; for (const y of s.y) if (Number.isFinite(y)) { a = Math.min(a, y); b = Math.max(b, y); } return [a, b]; });
  const x = time => plot.left + (w - plot.left - plot.right) * (T1 > T0 ? (time - T0) / (T1 - T0) : 0);
  const widths = bounds.map(([a, b]) => Math.max(Math.abs(a), Math.abs(b))).filter(b => b > 0);
  const own = signals.length > 1 && Math.max(...widths) > 25 * Math.min(...widths);      // each in a range of its own
  let low = Math.min(...bounds.map(b => b[0])), high = Math.max(...bounds.map(b => b[1]));
  if (!(high > low)) { const pad = Math.abs(high) * .1 || 1; low -= pad; high += pad; }
  const pad = .06 * (high - low); low -= pad; high += pad;
  const y = (value, k) => { let [a, b] = [low, high];
    if (own) { [a, b] = bounds[k]; const p = .06 * (b - a) || Math.abs(b) * .1 || 1; a -= p; b += p; }
    return h - plot.bottom - (h - plot.top - plot.bottom) * (value - a) / (b - a); };
  ctx.font = "11px system-ui, sans-serif"; ctx.lineWidth = 1; ctx.fillStyle = text; ctx.strokeStyle = rim;
  const dt = nice(T1 - T0 || 1, Math.max(2, w / 90)), dy = nice(high - low, Math.max(2, h / 36));
  ctx.textAlign = "center"; ctx.textBaseline = "top";
  for (let k = Math.ceil(T0 / dt); k * dt <= T1 + 1e-9; k++) { ctx.beginPath(); ctx.moveTo(x(k * dt), plot.top); ctx.lineTo(x(k * dt), h - plot.bottom); ctx.stroke(); ctx.fillText(short(+(k * dt).toPrecision(10)), x(k * dt), h - plot.bottom + 4); }
  ctx.textAlign = "right"; ctx.textBaseline = "middle";
  if (!own && signals.length) for (let k = Math.ceil(low / dy); k * dy <= high; k++) { ctx.beginPath(); ctx.moveTo(plot.left, y(k * dy, 0)); ctx.lineTo(w - plot.right, y(k * dy, 0)); ctx.stroke(); ctx.fillText(short(+(k * dy).toPrecision(10)), plot.left - 6, y(k * dy, 0)); }
  if (own) { ctx.textAlign = "left"; ctx.fillText("own scales", 2, plot.top + 6); }
  ctx.lineWidth = 1.7; ctx.lineJoin = "round";
  signals.forEach((s, k) => {
    ctx.strokeStyle = ink(s); ctx.beginPath();
    let open = false;
    for (let i = 0; i < s.t.length; i++) {
      if (!Number.isFinite(s.y[i])) { open = false; continue; }
      if (!open) ctx.moveTo(x(s.t[i]), y(s.y[i], k));
      else for (let j = 1, n = s.t.length < 200 ? 8 : 1; j <= n; j++) { const time = s.t[i - 1] + j / n * (s.t[i] - s.t[i - 1]); ctx.lineTo(x(time), y(n > 1 ? cubic(s, i - 1, j / n) : s.y[i], k)); }
      open = true;
    }
    ctx.stroke();
  });
  ctx.strokeStyle = style.getPropertyValue("--text"); ctx.lineWidth = 1; ctx.globalAlpha = .75;
  ctx.beginPath(); ctx.moveTo(x(t), plot.top - 4); ctx.lineTo(x(t), h - plot.bottom + 3); ctx.stroke(); ctx.globalAlpha = 1;
  signals.forEach((s, k) => { const v = valueAt(s, t); if (Number.isFinite(v)) { ctx.fillStyle = ink(s); ctx.beginPath(); ctx.arc(x(t), y(v, k), 3.2, 0, 7); ctx.fill(); } });
  for (const node of el("chosen").children) { const s = SIGNALS[+node.dataset.number]; node.querySelector("b").textContent = short(valueAt(s, t)) + (s.unit ? " " + s.unit : ""); }
}
function listChosen() {
  const list = el("chosen");
  list.textContent = "";
  for (const s of chosen()) {
    const row = document.createElement("span"), swatch = document.createElement("i"), value = document.createElement("b");
    row.dataset.number = s.number; swatch.style.background = ink(s);
    row.append(swatch, document.createTextNode(s.name + " "), value);
    row.title = "take " + s.name + " out";
    row.onclick = () => { s.on = false; listSignals(); };
    list.append(row);
  }
}
function listSignals() {
  const list = el("signals"), wanted = el("find").value.toLowerCase();
  list.textContent = "";
  for (const s of SIGNALS) {
    if (wanted && !s.name.toLowerCase().includes(wanted)) continue;
    const row = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox"; box.checked = s.on;
    box.onchange = () => { s.on = box.checked; listChosen(); changed(); };
    row.append(box, document.createTextNode(" " + s.name));
    list.append(row);
  }
  listChosen(); changed();
}
function timeOnChart(event) {
  const box = chartCanvas.getBoundingClientRect(), share = (event.clientX - box.left - plot.left) / (box.width - plot.left - plot.right);
  setTime(T0 + clamp(share, 0, 1) * (T1 - T0));
}
chartCanvas.addEventListener("pointerdown", e => { chartCanvas.setPointerCapture(e.pointerId); timeOnChart(e); });
chartCanvas.addEventListener("pointermove", e => { if (e.buttons) timeOnChart(e); });
