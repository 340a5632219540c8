// digits.js - the example: a digit is drawn, and read at every stroke. The network of examples/ was trained on pictures
// of 8 by 8 points, each of which counts the ink in 4 by 4 of a picture of 32 by 32 that the digit fills.

const SIDE = 256;
const FINE = 32;
const COARSE = 8;

/** The ink of a canvas as the network saw digits: 64 numbers from 0 to 1. */
export function pictureOf(canvas) {
  const { data } = canvas.getContext('2d').getImageData(0, 0, SIDE, SIDE);
  const ink = (x, y) => data[4 * (Math.floor(y) * SIDE + Math.floor(x)) + 3] > 100;
  let [left, top, right, bottom] = [SIDE, SIDE, -1, -1];
  for (let y = 0; y < SIDE; y++)
    for (let x = 0; x < SIDE; x++)
      if (ink(x, y)) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
  const picture = new Float32Array(COARSE * COARSE);
  if (right < 0)
    return picture;
  const height = Math.max(bottom - top + 1, (right - left + 1) * 0.9, 24);
  const x0 = (left + right + 1) / 2 - height / 2;
  const y0 = (top + bottom + 1) / 2 - height / 2;
  for (let y = 0; y < FINE; y++)
    for (let x = 0; x < FINE; x++) {
      const [px, py] = [x0 + (x + 0.5) * height / FINE, y0 + (y + 0.5) * height / FINE];
      if (px >= 0 && py >= 0 && px < SIDE && py < SIDE && ink(px, py))
        picture[(y >> 2) * COARSE + (x >> 2)] += 1 / 16;
    }
  return picture;
}

/** Lets a finger or the mouse draw on a canvas; tells after every movement. */
export function drawable(canvas, onDraw) {
  canvas.width = canvas.height = SIDE;
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.lineWidth = 22;
  context.lineCap = context.lineJoin = 'round';
  let last = null;
  const at = (event) => {
    const { left, top, width } = canvas.getBoundingClientRect();
    return [(event.clientX - left) * SIDE / width, (event.clientY - top) * SIDE / width];
  };
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = at(event);
    canvas.onpointermove(event);
  };
  canvas.onpointermove = (event) => {
    if (!last)
      return;
    const to = at(event);
    context.strokeStyle = getComputedStyle(canvas).color;
    context.beginPath();
    context.moveTo(...last);
    context.lineTo(to[0] + 0.1, to[1]);
    context.stroke();
    last = to;
    onDraw();
  };
  canvas.onpointerup = canvas.onpointercancel = () => { last = null; };
}
