// layout.js - boxes for what is unfolded. Each group is laid out by itself, from the inside out, and keeps its layout until
// something in it is folded or unfolded; so a click costs one group and those around it.
import workerCode from 'inline:layout-worker.js';

const HEAD = 34;                    // the title of a group that is open
const PAD = 16;
const MOST_PORTS = 6;               // on one side of a group; more are one
const LINE = 22;

let context = null;

function textWidth(text, font) {
  context ??= document.createElement('canvas').getContext('2d');
  context.font = font;
  return context.measureText(text).width;
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const BOLD = `600 13px ${FONT}`;
const SMALL = `12px ${FONT}`;

export function shorten(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The two lines in a box. */
export function titles(item) {
  if (item.kind === 'input' || item.kind === 'output')
    return [shorten(item.value, 32), ''];
  if (item.kind === 'group')
    return [shorten(item.name, 36), item.node ? '' : shorten(item.className.split('.').pop(), 32)];
  return [shorten(item.name, 32), shorten(item.label || item.detail || '', 34)];
}

function boxSize(item) {
  const [title, detail] = titles(item);
  const count = item.kind === 'group' ? textWidth(` ${item.count}`, SMALL) + 34 : 0;
  const width = Math.max(textWidth(title, BOLD) + count, textWidth(detail, SMALL)) + 28;
  return { width: Math.max(76, Math.ceil(width)), height: detail ? 46 : 30 };
}

/** The ports of one side as boxes: each value, or one box for all. */
function portBoxes(group, side) {
  const all = [...group[side].values()];
  const merged = all.length > MOST_PORTS ? [{ values: all.map((p) => p.value), children: new Set(all.flatMap((p) => [...p.children])) }]
    : all.map((p) => ({ values: [p.value], children: p.children }));
  return merged.map((port, i) => {
    const text = port.values.length > 1 ? `${port.values.length}` : shorten(port.values[0].name, 24);
    return { kind: 'port', id: `${side}${group.id}.${i}`, side, text, ...port, width: textWidth(text, SMALL) + 22, height: LINE };
  });
}

export class Layout {
  constructor() {
    this.worker = new Worker(URL.createObjectURL(new Blob([workerCode], { type: 'text/javascript' })));
    this.waiting = new Map();
    this.ticket = 0;
    this.worker.onmessage = ({ data }) => {
      this.waiting.get(data.ticket)?.(data);
      this.waiting.delete(data.ticket);
    };
  }

  ask(boxes, lines) {
    return new Promise((done) => {
      const ticket = ++this.ticket;
      this.waiting.set(ticket, done);
      const index = new Map(boxes.map(({ id }, i) => [id, i]));
      this.worker.postMessage({ ticket, boxes: boxes.map(({ width, height }) => [width, height]), lines: lines.map(({ from, to }) => [index.get(from), index.get(to)]) });
    });
  }

  /** Sets width, height and placed ({ boxes, lines } with places relative to the group) of an open group. */
  async group(group) {
    if (group.placed)
      return;
    await Promise.all(group.children.map((child) => {
      if (child.kind === 'group' && child.open)
        return this.group(child);
      return Object.assign(child, boxSize(child));
    }));
    const ports = group.parent ? [...portBoxes(group, 'entries'), ...portBoxes(group, 'exits')] : [];
    const boxes = [...group.children, ...ports];
    const lines = [...group.edges.values()].map(({ from, to, values }) => ({ from: from.id, to: to.id, values }));
    for (const port of ports)
      for (const child of port.children)
        lines.push(port.side === 'entries' ? { from: port.id, to: child.id, values: port.values } : { from: child.id, to: port.id, values: port.values });
    const found = await this.ask(boxes, lines);
    const head = group.parent ? HEAD : 0;
    const pad = group.parent ? PAD : 0;
    const titleWidth = group.parent ? textWidth(titles(group).join('  '), BOLD) + 60 : 0;
    const shift = Math.max(0, (titleWidth - found.width - 2 * pad) / 2);
    boxes.forEach((box, i) => {
      box.x = found.places[i][0] + pad + shift;
      box.y = found.places[i][1] + head + pad;
    });
    lines.forEach((line, i) => {
      line.points = found.ways[i].map(([x, y]) => [x + pad + shift, y + head + pad]);
    });
    group.placed = { boxes, lines };
    group.width = Math.max(found.width + 2 * pad, titleWidth);
    group.height = found.height + head + 2 * pad;
  }

  /** Something in `item` was folded or unfolded: it and all around it are laid out again. */
  static forget(item) {
    for (let at = item; at; at = at.parent)
      at.placed = null;
  }

  end() {
    this.worker.terminate();
  }
}
