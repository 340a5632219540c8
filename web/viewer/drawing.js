// drawing.js - the laid out tree as SVG: what lies in a window of the drawing, as fine as the scale can show.
import { s } from './dom.js';
import { FONT, titles } from './layout.js';

const FINEST = 0.32;                // below this scale words are not drawn
const SMALLEST = 14;                // pixels: a group below it is one block

export const STYLE = `
.drawing text { font: 12px ${FONT}; fill: var(--ink); }
.drawing .title { font-size: 13px; font-weight: 600; }
.drawing .detail, .drawing .count { fill: var(--quiet); }
.drawing .box > rect:first-child { fill: var(--card); stroke: var(--edge); }
.drawing .mark { fill: var(--kind, var(--quiet)); }
.drawing .group > rect:first-child { fill: var(--shade); stroke: var(--edge); }
.drawing .closed > rect:first-child { fill: var(--tint); }
.drawing .port rect { fill: none; stroke: var(--edge); stroke-dasharray: 3 3; }
.drawing .port text { fill: var(--quiet); }
.drawing .end > rect:first-child { fill: var(--accent-soft); stroke: none; }
.drawing .line { fill: none; stroke: var(--wire); stroke-width: 1.3; }
.drawing .line { marker-end: url(#arrow); }
.drawing .line.near { marker-end: url(#arrow-near); }
.drawing .tip { fill: var(--wire); }
.drawing .tip.near { fill: var(--accent); }
.drawing .line.near { stroke: var(--accent); stroke-width: 2; }
.drawing .selected > rect:first-child { stroke: var(--accent); stroke-width: 2.5; }
.drawing .found > rect:first-child { fill: var(--found); }
.drawing .fold { fill: var(--card); stroke: var(--edge); }
.drawing .fold-sign { stroke: var(--quiet); stroke-width: 1.5; fill: none; }
.drawing .layers { --kind: #3b74d8; } .drawing .norm { --kind: #8a5bd0; } .drawing .active { --kind: #d9822b; }
.drawing .pool { --kind: #2a9d8f; } .drawing .control { --kind: #c2417a; } .drawing .quant { --kind: #5f8a2e; }
`;

const KINDS = {
  layers: /^(Conv|ConvTranspose|Gemm|MatMul|Einsum|LSTM|GRU|RNN|Attention|DeformConv|QLinear.*|.*Integer)$/,
  norm: /Normalization$/,
  active: /^(Relu|LeakyRelu|PRelu|Elu|Selu|Celu|Gelu|Sigmoid|HardSigmoid|HardSwish|Mish|Swish|Softmax|LogSoftmax|Softplus|Softsign|Tanh|ThresholdedRelu|Erf|Hardmax)$/,
  pool: /Pool|^Resize$|^Upsample$|^Reduce/,
  control: /^(If|Loop|Scan|SequenceMap)$/,
  quant: /^(QuantizeLinear|DequantizeLinear|DynamicQuantizeLinear)$/,
};

export function kindOf(op) {
  return Object.keys(KINDS).find((kind) => KINDS[kind].test(op)) ?? '';
}

/** Places of everything that is open, in the whole drawing. */
export function place(group, x = 0, y = 0) {
  group.left = x;
  group.top = y;
  for (const box of group.placed.boxes) {
    box.left = x + box.x;
    box.top = y + box.y;
    if (box.kind === 'group' && box.open)
      place(box, box.left, box.top);
  }
}

function curve(points, x, y) {
  const [first, ...rest] = points.map(([a, b]) => [Math.round((a + x) * 10) / 10, Math.round((b + y) * 10) / 10]);
  let d = `M${first}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const [a, b] = [rest[i], rest[i + 1]];
    const last = i === rest.length - 2;
    d += `Q${a} ${last ? b : [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]}`;
  }
  return rest.length === 1 ? `${d}L${rest[0]}` : d;
}

export class Painter {
  /** window: { left, top, right, bottom } of what is wanted, scale: pixels a unit; both null: everything, in full. */
  constructor({ window: seen = null, scale = 1, selected = null, found = new Set(), describe = () => '' }) {
    Object.assign(this, { seen, scale, selected, found, describe, words: scale >= FINEST });
  }

  outside(left, top, right, bottom) {
    const { seen } = this;
    return seen && (right < seen.left || left > seen.right || bottom < seen.top || top > seen.bottom);
  }

  paint(root) {
    const arrow = (id, kind) => s('marker', { id, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 6.5, markerHeight: 6.5, orient: 'auto' },
      s('path', { class: kind, d: 'M0 0.8L8 4L0 7.2z' }));
    const out = s('g', { class: 'drawing' }, arrow('arrow', 'tip'), arrow('arrow-near', 'tip near'));
    this.lines(root, out);
    this.children(root, out);
    return out;
  }

  children(group, out) {
    for (const box of group.placed.boxes) {
      if (this.outside(box.left, box.top, box.left + box.width, box.top + box.height))
        continue;
      if (box.kind === 'port')
        this.port(box, out);
      else if (box.kind === 'group' && box.open && box.height * this.scale > SMALLEST)
        this.open(box, out);
      else
        this.box(box, out);
    }
  }

  lines(group, out) {
    const near = (line) => line.values.some((v) => v.from === this.selected) || this.selected && (line.to === this.selected.id || line.from === this.selected.id);
    for (const line of group.placed.lines) {
      const xs = line.points.map(([x]) => x + group.left);
      const ys = line.points.map(([, y]) => y + group.top);
      if (this.outside(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)))
        continue;
      out.append(s('path', { class: near(line) ? 'line near' : 'line', d: curve(line.points, group.left, group.top) },
        s('title', {}, this.describe(line.values))));
    }
  }

  frame(box, classes, radius) {
    if (box === this.selected)
      classes.push('selected');
    if (this.found.has(box))
      classes.push('found');
    return s('g', { class: classes.join(' '), 'data-id': box.id, transform: `translate(${box.left.toFixed(1)} ${box.top.toFixed(1)})` },
      s('rect', { width: box.width.toFixed(1), height: box.height.toFixed(1), rx: radius }));
  }

  box(box, out) {
    const end = box.kind === 'input' || box.kind === 'output';
    const kind = box.node ? kindOf(box.node.op) : '';
    const made = this.frame(box, ['box', box.kind, kind, end ? 'end' : '', box.kind === 'group' ? 'closed' : ''].filter(Boolean), end ? 15 : 7);
    if (!end && box.kind === 'node')
      made.append(s('rect', { class: 'mark', x: 0, y: 8, width: 3, height: box.height - 16, rx: 1.5 }));
    if (this.words) {
      const [title, detail] = titles(box);
      made.append(s('text', { class: 'title', x: end ? box.width / 2 : 14, y: detail ? 19 : 20, 'text-anchor': end ? 'middle' : '' }, title));
      if (detail)
        made.append(s('text', { class: 'detail', x: 14, y: 36 }, detail));
      if (box.kind === 'group') {
        made.append(s('text', { class: 'count', x: box.width - 30, y: detail ? 19 : 20, 'text-anchor': 'end' }, String(box.count)));
        this.fold(box, made);
      }
    }
    out.append(made);
  }

  open(box, out) {
    const made = this.frame(box, ['group'], 10);
    if (this.words) {
      const [title, detail] = titles(box);
      const text = s('text', { class: 'title', x: 14, y: 22 }, title);
      if (detail)
        text.append(s('tspan', { class: 'detail', dx: 8, 'font-weight': 400 }, detail));
      made.append(text);
      this.fold(box, made);
    }
    out.append(made);
    this.lines(box, out);
    this.children(box, out);
  }

  /** The button that folds and unfolds. */
  fold(box, made) {
    const [x, y] = [box.width - 16, box.open ? 18 : 15];
    made.append(s('g', { class: 'folder', 'data-fold': box.id }, s('circle', { class: 'fold', cx: x, cy: y, r: 8 }),
      s('path', { class: 'fold-sign', d: `M${x - 4} ${y}h8${box.open ? '' : `M${x} ${y - 4}v8`}` })));
  }

  port(box, out) {
    if (!this.words)
      return;
    out.append(s('g', { class: 'port', 'data-port': box.id, transform: `translate(${box.left.toFixed(1)} ${box.top.toFixed(1)})` },
      s('rect', { width: box.width.toFixed(1), height: box.height, rx: 11 }),
      s('text', { x: box.width / 2, y: 15, 'text-anchor': 'middle' }, box.text),
      s('title', {}, this.describe(box.values))));
  }
}
