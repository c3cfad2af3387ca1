// The camera: it turns about a target, follows a body, and has presets.
const FOV = 30 * Math.PI / 180;
const CORNER = {auto: [S.azimuth, .3], corner: [S.azimuth0 + .6, .5], front: [-Math.PI / 2, 0], back: [Math.PI / 2, 0], left: [Math.PI, 0],
  right: [0, 0], top: [-Math.PI / 2, Math.PI / 2 - 1e-4], bottom: [-Math.PI / 2, 1e-4 - Math.PI / 2]};
const cam = {az: 0, el: 0, zoom: 1, target: [0, 0, 0], flat: false};
let W = 1, H = 1, LOW = 70, SIDE = 0, follow = -1;           // the window, what bar and list take of it, the part that is followed

function setView(name) {
  const [az, el] = CORNER[name] || CORNER.auto;
  Object.assign(cam, {az, el, zoom: 1, target: [0, 0, 0]});
  follow = S.follow;
}
function turnCamera() {
  const ca = Math.cos(cam.az), sa = Math.sin(cam.az), ce = Math.cos(cam.el), se = Math.sin(cam.el);
  cam.back = [0, 1, 2].map(i => ca * ce * E1[i] + sa * ce * E2[i] + se * UP[i]);
  cam.right = [0, 1, 2].map(i => -sa * E1[i] + ca * E2[i]);
  cam.up = cross(cam.back, cam.right);
}
const OUTLINE = S.outline.map(o => add(add(times(o[0] * S.radius, E1), E2, o[1] * S.radius), UP, o[2] * S.radius));
function fitDistance() {                                     // from where everything that is drawn over all times fills the window
  const half = [Math.max((W - SIDE) / 2 - 30, 40), Math.max((H - LOW) / 2 - 36, 40)];
  let far = 0;
  for (const c of OUTLINE) far = Math.max(far, dot(c, cam.back) + cam.focal * Math.max(Math.abs(dot(c, cam.right)) / half[0], Math.abs(dot(c, cam.up)) / half[1]));
  return clamp(far, .4 * S.radius / Math.sin(FOV / 2), 1.35 * S.radius / Math.sin(FOV / 2));
}
function aim() {
  turnCamera();
  cam.focal = .5 * Math.min(W - SIDE, H - LOW) / Math.tan(FOV / 2);
  if (!cam.fit || cam.fitFor !== W + "x" + H + "x" + LOW + "x" + SIDE) { cam.fit = fitDistance(); cam.fitFor = W + "x" + H + "x" + LOW + "x" + SIDE; }
  cam.dist = cam.fit / cam.zoom;
  if (follow >= 0 && !LOST[follow + 1]) cam.target = spot(follow + 1, S.parts[follow].com);
  cam.eye = add(cam.target, cam.back, cam.dist);
  cam.near = Math.max(cam.dist * .03, 1e-3 * S.radius); cam.far = cam.dist + 14 * S.radius;
  const fx = 2 * cam.focal / W, fy = 2 * cam.focal / H, shift = LOW / H, aside = SIDE / W;   // the middle of the picture
  const R = cam.right, U = cam.up, B = cam.back, e = cam.eye, n = cam.near, f = cam.far;
  const rows = cam.flat
    ? [[...times(fx / cam.dist, R), -fx / cam.dist * dot(R, e) + aside], [...times(fy / cam.dist, U), -fy / cam.dist * dot(U, e) + shift],
       [...times(-2 / (f - n), B), 2 / (f - n) * dot(B, e) - (f + n) / (f - n)], [0, 0, 0, 1]]
    : [[...add(times(fx, R), B, -aside), -fx * dot(R, e) + aside * dot(B, e)], [...add(times(fy, U), B, -shift), -fy * dot(U, e) + shift * dot(B, e)],
       [...times(-(f + n) / (f - n), B), (f + n) / (f - n) * dot(B, e) - 2 * f * n / (f - n)], [...times(-1, B), dot(B, e)]];
  cam.rows = rows;
  cam.matrix = new Float32Array(16);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) cam.matrix[4 * j + i] = rows[i][j];
}
function project(p) {                                        // pixels, and the depth; null behind the camera
  const c = cam.rows.map(r => r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3]);
  if (c[3] < 1e-6) return null;
  return [W * (.5 + .5 * c[0] / c[3]), H * (.5 - .5 * c[1] / c[3]), cam.flat ? c[2] : c[3]];
}
function ray(x, y) {                                         // from the eye through a pixel
  const u = (x - W / 2 - SIDE / 2) / cam.focal, v = (H / 2 - LOW / 2 - y) / cam.focal;
  if (cam.flat) return [add(add(cam.eye, cam.right, u * cam.dist), cam.up, v * cam.dist), times(-1, cam.back)];
  return [cam.eye, unit(add(add(times(-1, cam.back), cam.right, u), cam.up, v))];
}
