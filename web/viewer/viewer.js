// viewer.js - the picture of a model: drawing, search, keyboard, panel. new Viewer(element, { t }).show(blob, ..) is all
// that a page does.
import { h, s, save } from './dom.js';
import { Painter, place, STYLE } from './drawing.js';
import { summarise } from './facts.js';
import { Layout } from './layout.js';
import { readModel, typeText } from './onnx.js';
import { Panel } from './panel.js';
import { Tree } from './tree.js';

const MOST_FOUND = 60;
const WHOLE = 60;                   // so many nodes are unfolded from the start
const FIRST = 14;                   // otherwise groups are unfolded until so many boxes are seen
const SCALES = [0.02, 3];

export class Viewer {
  /** t(key, ...args) gives the words of strings.js. */
  constructor(root, { t, name = 'model' }) {
    this.root = root;
    this.t = t;
    this.name = name;
    this.layout = new Layout();
    this.panel = new Panel(this);
    this.camera = { x: 0, y: 0, scale: 1 };
    this.found = new Set();
    this.selected = null;
    this.mode = 'summary';
    this.build();
  }

  // ---- what is in it ----

  build() {
    const { t } = this;
    const button = (key, text, onclick) => h('button', { type: 'button', title: t(key), 'aria-label': t(key), onclick }, text);
    this.input = h('input', { type: 'search', placeholder: t('search'), autocomplete: 'off', spellcheck: false, role: 'combobox', 'aria-expanded': 'false', 'aria-label': t('search') });
    this.results = h('ul', { role: 'listbox', hidden: true });
    this.svg = s('svg', { tabindex: 0, role: 'application', 'aria-label': t('drawing') });
    this.world = s('g');
    this.svg.append(s('style', {}, STYLE), this.world);
    this.wait = h('p', { className: 'wait' }, t('drawingNow'));
    this.stage = h('div', { className: 'stage' }, this.svg, this.wait);
    this.content = h('div', { className: 'content' });
    this.modes = h('div', { className: 'modes' }, ...['summary', 'details', 'source'].map((mode) => h('button', { type: 'button', 'data-mode': mode, onclick: () => this.setMode(mode) }, t(mode))));
    this.said = h('p', { className: 'sr', role: 'status' });
    this.root.classList.add('viewer');
    this.root.viewer = this;
    this.root.replaceChildren(
      h('div', { className: 'bar' }, h('div', { className: 'finder' }, this.input, this.results), h('span', { className: 'gap' }),
        button('zoomOut', '−', () => this.zoom(1 / 1.3)), button('fit', t('fit'), () => this.fit()), button('zoomIn', '+', () => this.zoom(1.3)),
        button('unfold', t('unfold'), () => this.foldAll(true)), button('foldAll', t('foldAll'), () => this.foldAll(false)),
        button('exportSvg', 'SVG', () => this.exportSvg())),
      this.stage, h('div', { className: 'side' }, this.modes, this.content), this.said);
    this.listen();
  }

  /**
   * @param {Blob} blob the .onnx
   * @param {{beside?: (name: string) => Blob | undefined, lines?: Object<string, string>, dataAtHand?: boolean}} more files of weights,
   *   texts of lines of source, and whether files of weights could be at hand
   */
  async show(blob, { beside = () => undefined, lines = {}, dataAtHand = true } = {}) {
    Object.assign(this, { beside, lines, blob, dataAtHand });
    const model = await readModel(blob);
    this.tree = new Tree(model);
    this.detail();
    this.facts = summarise(this.tree);
    this.openFirst();
    await this.arrange();
    this.wait.hidden = true;
    this.fit();
    this.setMode('summary');
    const wanted = decodeURIComponent(location.hash.slice(1)).replace(/^node=/, '');
    if (wanted && this.tree.byName.has(wanted))
      await this.reveal(this.tree.byName.get(wanted));
    this.root.dataset.shown = String(this.tree.leaves.length);
  }

  /** The second line of a node: the sizes of its weight, or of what it gives. */
  detail() {
    for (const item of this.tree.leaves) {
      const { node, scope } = item;
      const weights = node.inputs.filter((name) => name && !scope.maker(name)).map((name) => scope.constant(name));
      const weight = weights.find((tensor) => tensor?.dims.length > 1);
      const size = weight ? weight.dims.join('×') : '';
      item.label = [item.label, size].filter(Boolean).join(' · ');
    }
  }

  // ---- folding ----

  openFirst() {
    const groups = [];
    const collect = (group) => {
      for (const child of group.children)
        if (child.kind === 'group') {
          groups.push(child);
          collect(child);
        }
    };
    collect(this.tree.root);
    if (this.tree.leaves.length <= WHOLE) {
      for (const group of groups)
        group.open = true;
      return;
    }
    let seen = this.tree.root.children.length;
    for (const group of groups.sort((a, b) => a.depth - b.depth || b.count - a.count)) {
      if (seen >= FIRST)
        break;
      if (group.parent.open && group.children.length < 40) {
        group.open = true;
        seen += group.children.length - 1;
      }
    }
  }

  async arrange() {
    await this.layout.group(this.tree.root);
    place(this.tree.root);
    this.draw();
  }

  /** The group stays where it is on the screen. */
  async fold(group, open = !group.open) {
    const before = this.toScreen(group.left ?? 0, group.top ?? 0);
    group.open = open;
    Layout.forget(group);
    await this.arrange();
    const { scale } = this.camera;
    this.camera.x = before[0] - group.left * scale;
    this.camera.y = before[1] - group.top * scale;
    this.move();
    this.say(group);
  }

  async foldAll(open) {
    const all = this.tree.items.filter((item) => item.kind === 'group' && item.parent && item.depth > 0);
    for (const group of all) {
      group.open = open;
      group.placed = null;
    }
    this.tree.root.placed = null;
    this.wait.hidden = false;
    await this.arrange();
    this.wait.hidden = true;
    this.fit();
  }

  // ---- the camera ----

  toScreen(x, y) {
    const { camera } = this;
    return [x * camera.scale + camera.x, y * camera.scale + camera.y];
  }

  fit() {
    const { width, height } = this.stage.getBoundingClientRect();
    const { root } = this.tree;
    const scale = Math.min(1.15, (width - 48) / root.width, (height - 48) / root.height);
    this.camera.scale = Math.max(SCALES[0], Math.min(SCALES[1], Math.max(scale, Math.min(0.75, (width - 48) / root.width))));
    this.camera.x = (width - root.width * this.camera.scale) / 2;
    this.camera.y = Math.max(24, (height - root.height * this.camera.scale) / 2);
    this.move();
  }

  zoom(factor, x = this.stage.clientWidth / 2, y = this.stage.clientHeight / 2) {
    const { camera } = this;
    const scale = Math.max(SCALES[0], Math.min(SCALES[1], camera.scale * factor));
    camera.x = x - (x - camera.x) * scale / camera.scale;
    camera.y = y - (y - camera.y) * scale / camera.scale;
    camera.scale = scale;
    this.move();
  }

  /** The drawing follows at once; what has come into view is painted with the next frame. */
  move() {
    const { x, y, scale } = this.camera;
    this.world.setAttribute('transform', `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.painted || this.painted.scale / scale > 1.25 || scale / this.painted.scale > 1.25 || this.leftPainted())
        this.draw();
    });
  }

  view(margin) {
    const { x, y, scale } = this.camera;
    const [width, height] = [this.stage.clientWidth, this.stage.clientHeight];
    return { left: (-x - margin * width) / scale, top: (-y - margin * height) / scale, right: (width - x + margin * width) / scale, bottom: (height - y + margin * height) / scale };
  }

  leftPainted() {
    const now = this.view(0);
    const { window: then } = this.painted;
    return now.left < then.left || now.top < then.top || now.right > then.right || now.bottom > then.bottom;
  }

  draw() {
    if (!this.tree?.root.placed)
      return;
    this.painted = { window: this.view(0.6), scale: this.camera.scale };
    const painter = new Painter({ ...this.painted, selected: this.selected && this.tree.shown(this.selected), found: this.found, describe: (values) => this.describe(values) });
    this.world.replaceChildren(painter.paint(this.tree.root));
    const { x, y, scale } = this.camera;
    this.world.setAttribute('transform', `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`);
  }

  describe(values) {
    return values.slice(0, 12).map((v) => `${v.name}  ${typeText(v.scope.type(v.name))}`).join('\n') + (values.length > 12 ? '\n…' : '');
  }

  // ---- choosing ----

  select(item) {
    this.selected = item;
    this.found = new Set();
    this.draw();
    this.setMode('details');
    this.say(item);
    if (item.node)
      history.replaceState(null, '', `#node=${encodeURIComponent(item.node.name || item.node.outputs[0])}`);
  }

  address(item) {
    const name = item.node ? item.node.name || item.node.outputs[0] : item.value ?? item.path;
    return `${location.href.split('#')[0]}#node=${encodeURIComponent(name)}`;
  }

  /** Unfolds what is around an item, brings it into view and chooses it. */
  async reveal(item) {
    await this.unfoldTo([item]);
    this.select(item);
    this.center(item);
    this.svg.focus({ preventScroll: true });
  }

  async unfoldTo(items) {
    for (const item of items)
      for (let at = item.parent; at; at = at.parent)
        if (!at.open) {
          at.open = true;
          Layout.forget(at);
        }
    if (!this.tree.root.placed)
      await this.arrange();
  }

  center(item) {
    const { width, height } = this.stage.getBoundingClientRect();
    this.camera.scale = Math.max(this.camera.scale, 0.8);
    this.camera.x = width / 2 - (item.left + Math.min(item.width, width) / 2) * this.camera.scale;
    this.camera.y = height / 3 - item.top * this.camera.scale;
    this.move();
    this.draw();
  }

  say(item) {
    const state = item.kind === 'group' ? `, ${this.t('nodesN', item.count)}` : '';
    this.said.textContent = `${item.node?.op ?? item.value ?? item.name} ${item.node?.name ?? ''}${state}`;
  }

  setMode(mode) {
    this.mode = mode;
    for (const button of this.modes.children) {
      button.setAttribute('aria-pressed', String(button.dataset.mode === mode));
      button.disabled = button.dataset.mode === 'details' && !this.selected;
    }
    const parts = { summary: () => this.panel.summary(), details: () => this.panel.item(this.selected), source: () => this.panel.source(this.line) }[mode]();
    this.content.replaceChildren(...parts.flat().filter(Boolean));
  }

  /** The nodes of a line of source are marked, the first comes into view. */
  async showSource(source) {
    const items = this.tree.bySource.get(source) ?? [];
    this.line = source;
    await this.unfoldTo(items.slice(0, 40));
    this.found = new Set(items.map((item) => this.tree.shown(item)));
    this.selected = null;
    if (items[0])
      this.center(this.tree.shown(items[0]));
    this.setMode('source');
  }

  // ---- searching ----

  find(text) {
    this.input.value = text;
    this.input.focus();
    this.search();
  }

  matches(text) {
    const wanted = text.toLowerCase();
    const rank = (item) => {
      const { op, name, outputs, domain } = item.node;
      const full = domain ? `${domain}::${op}` : op;
      if (full.toLowerCase() === wanted || name.toLowerCase() === wanted)
        return 0;
      if (op.toLowerCase().startsWith(wanted))
        return 1;
      return [name, ...outputs, item.node.props['pt2onnx.source'] ?? ''].some((word) => word.toLowerCase().includes(wanted)) ? 2 : 3;
    };
    const found = this.tree.leaves.map((item) => [rank(item), item]).filter(([r]) => r < 3);
    return found.sort(([a], [b]) => a - b).map(([, item]) => item);
  }

  search() {
    const text = this.input.value.trim();
    const all = text ? this.matches(text) : [];
    const rows = all.slice(0, MOST_FOUND).map((item) => h('li', { role: 'option', onmousedown: (event) => {
      event.preventDefault();
      this.choose(item);
    } }, h('b', {}, item.node.op), h('span', {}, item.node.name || item.node.outputs[0])));
    rows.forEach((row, i) => { row.item = all[i]; });
    if (text && !rows.length)
      rows.push(h('li', {}, this.t('nothingFound')));
    else if (all.length > rows.length)
      rows.push(h('li', {}, this.t('nodesN', all.length)));
    this.results.replaceChildren(...rows);
    this.results.hidden = !text;
    this.input.setAttribute('aria-expanded', String(Boolean(text)));
    this.mark(0);
    this.found = new Set(all.slice(0, 1000).map((item) => this.tree.shown(item)));
    this.draw();
  }

  mark(i) {
    const rows = [...this.results.children].filter((row) => row.item);
    this.marked = rows.length ? (i + rows.length) % rows.length : -1;
    rows.forEach((row, k) => row.setAttribute('aria-selected', String(k === this.marked)));
    rows[this.marked]?.scrollIntoView({ block: 'nearest' });
    return rows[this.marked]?.item;
  }

  choose(item) {
    this.results.hidden = true;
    this.input.setAttribute('aria-expanded', 'false');
    this.reveal(item);
  }

  // ---- mouse, fingers, keys ----

  listen() {
    this.input.oninput = () => this.search();
    this.input.onblur = () => { this.results.hidden = true; };
    this.input.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step)
        this.mark(this.marked + step);
      else if (event.key === 'Enter' && this.mark(this.marked))
        this.choose(this.mark(this.marked));
      else if (event.key === 'Escape')
        this.results.hidden = true;
      else
        return;
      event.preventDefault();
    };
    this.stage.onwheel = (event) => this.wheel(event);
    this.svg.onpointerdown = (event) => this.press(event);
    this.svg.ondblclick = (event) => {
      const item = this.itemAt(event.target);
      if (item?.kind === 'group')
        this.fold(item);
    };
    this.svg.onkeydown = (event) => this.key(event);
    new ResizeObserver(() => this.draw()).observe(this.stage);
  }

  wheel(event) {
    event.preventDefault();
    const { left, top } = this.stage.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY * 0.01), event.clientX - left, event.clientY - top);
      return;
    }
    this.camera.x -= event.shiftKey ? event.deltaY : event.deltaX;
    this.camera.y -= event.shiftKey ? 0 : event.deltaY;
    this.move();
  }

  itemAt(target) {
    const holder = target.closest?.('[data-id]');
    return holder && this.tree.items[Number(holder.dataset.id)];
  }

  /** A press that does not move is a click; one that moves carries the drawing; two fingers zoom. */
  press(down) {
    const { svg, camera } = this;
    this.fingers ??= new Map();
    this.fingers.set(down.pointerId, [down.clientX, down.clientY]);
    let moved = 0;
    const spread = () => {
      const [[ax, ay], [bx, by]] = [...this.fingers.values()];
      return Math.hypot(ax - bx, ay - by);
    };
    const onMove = (event) => {
      const last = this.fingers.get(event.pointerId);
      if (event.pointerId !== down.pointerId || !last)
        return;
      const before = this.fingers.size === 2 ? spread() : 0;
      this.fingers.set(event.pointerId, [event.clientX, event.clientY]);
      moved += Math.abs(event.clientX - last[0]) + Math.abs(event.clientY - last[1]);
      if (this.fingers.size === 2) {
        const { left, top } = this.stage.getBoundingClientRect();
        this.zoom(spread() / Math.max(1, before), event.clientX - left, event.clientY - top);
        return;
      }
      camera.x += event.clientX - last[0];
      camera.y += event.clientY - last[1];
      this.move();
    };
    const onUp = (event) => {
      if (event.pointerId !== down.pointerId)
        return;
      this.fingers.delete(event.pointerId);
      svg.removeEventListener('pointermove', onMove);
      svg.removeEventListener('pointerup', onUp);
      svg.removeEventListener('pointercancel', onUp);
      if (moved < 6 && event.type === 'pointerup')
        this.click(down.target);
    };
    if (down.pointerType !== 'mouse')
      svg.setPointerCapture(down.pointerId);
    svg.addEventListener('pointermove', onMove);
    svg.addEventListener('pointerup', onUp);
    svg.addEventListener('pointercancel', onUp);
    svg.focus({ preventScroll: true });
  }

  click(target) {
    const folder = target.closest?.('[data-fold]');
    const item = folder ? this.tree.items[Number(folder.dataset.fold)] : this.itemAt(target);
    if (folder)
      this.fold(item);
    else if (item)
      this.select(item);
    else if (this.selected || this.found.size) {
      this.selected = null;
      this.found = new Set();
      this.setMode('summary');
      this.draw();
    }
  }

  key(event) {
    const act = { '+': () => this.zoom(1.3), '=': () => this.zoom(1.3), '-': () => this.zoom(1 / 1.3), 0: () => this.fit(),
      '/': () => this.input.focus(), Escape: () => this.click(document.body),
      Enter: () => this.selected?.kind === 'group' && this.fold(this.selected),
      ' ': () => this.selected?.kind === 'group' && this.fold(this.selected),
      ArrowDown: () => this.walk(1), ArrowUp: () => this.walk(-1), ArrowRight: () => this.aside(1), ArrowLeft: () => this.aside(-1) }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    act();
  }

  /** Along a line: to the first box that takes what this one gives, or gives what it takes. */
  walk(step) {
    const at = this.selected && this.tree.shown(this.selected);
    const boxes = this.tree.root.placed.boxes;
    if (!at)
      return this.focusOn(step > 0 ? boxes[0] : boxes[boxes.length - 1]);
    const lines = at.parent.placed?.lines ?? [];
    const line = lines.find((l) => (step > 0 ? l.from : l.to) === at.id && typeof (step > 0 ? l.to : l.from) === 'number');
    if (line)
      return this.focusOn(this.tree.items[step > 0 ? line.to : line.from]);
    return at.parent.parent ? this.focusOn(at.parent) : undefined;
  }

  aside(step) {
    const at = this.selected && this.tree.shown(this.selected);
    if (!at)
      return this.walk(1);
    const all = at.parent.placed.boxes.filter((box) => box.kind !== 'port').sort((a, b) => a.top - b.top || a.left - b.left);
    return this.focusOn(all[(all.indexOf(at) + step + all.length) % all.length]);
  }

  focusOn(item) {
    this.select(item);
    const [x, y] = this.toScreen(item.left, item.top);
    const { width, height } = this.stage.getBoundingClientRect();
    if (x < 0 || y < 0 || x + item.width * this.camera.scale > width || y + item.height * this.camera.scale > height)
      this.center(item);
  }

  // ---- saving ----

  /** All that is unfolded, with the colours of now. */
  exportSvg() {
    const { root } = this.tree;
    const colours = getComputedStyle(this.root);
    const names = [...new Set([...STYLE.matchAll(/var\((--[a-z-]+)/g)].map((m) => m[1]))].filter((name) => name !== '--kind');
    const picture = s('svg', { xmlns: 'http://www.w3.org/2000/svg', viewBox: `-16 -16 ${root.width + 32} ${root.height + 32}`, width: root.width + 32, height: root.height + 32 },
      s('style', {}, `svg{${names.map((name) => `${name}:${colours.getPropertyValue(name)}`).join(';')}}${STYLE}`),
      s('rect', { x: -16, y: -16, width: '100%', height: '100%', fill: colours.getPropertyValue('--paper') }),
      new Painter({ describe: (values) => this.describe(values) }).paint(root));
    save(new Blob([new XMLSerializer().serializeToString(picture)], { type: 'image/svg+xml' }), `${this.name}.svg`);
  }

  end() {
    this.layout.end();
    this.root.replaceChildren();
    this.root.classList.remove('viewer');
    delete this.root.dataset.shown;
  }
}
