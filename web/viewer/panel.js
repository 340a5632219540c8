// panel.js - what stands beside the drawing: the summary, one node, the lines of source.
import { h, s } from './dom.js';
import { countText, flops } from './facts.js';
import { BINS, describe, firstNumbers, numberText, readable } from './numbers.js';
import { elements, tensorBytes, typeText } from './onnx.js';

const FEW = 16;                     // numbers of a small constant that are shown
const MOST_ROWS = 200;              // users, nodes of a line: more are counted

function bytesText(n) {
  return n < 1000 ? `${n} B` : `${countText(n)}B`;
}

function section(title, ...children) {
  return h('section', {}, h('h4', {}, title), ...children);
}

function facts(pairs) {
  return h('dl', {}, ...pairs.filter(([, value]) => value !== '' && value !== undefined).flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

function attributeText(a) {
  switch (a.kind) {
    case 'tensor': return `${a.value.dtype}[${a.value.dims.join(', ')}]`;
    case 'graph': return `{${a.value.nodes.length}}`;
    case 'graphs': return `${a.value.length}`;
    case 'type': return typeText(a.value);
    case 'string': return `"${a.value}"`;
    case 'float': return numberText(a.value);
    case 'floats': return `[${a.value.map(numberText).join(', ')}]`;
    default: return Array.isArray(a.value) ? `[${a.value.join(', ')}]` : String(a.value);
  }
}

/** See viewer.js: { tree, t, reveal(item), blob, beside(name), facts, lines }. */
export class Panel {
  constructor(view) {
    this.view = view;
    this.shown = 0;                 // counts what was shown: slow work for an earlier one is dropped
  }

  link(item, text = item.node?.name || item.value || item.name) {
    return h('button', { className: 'textlink', type: 'button', onclick: () => this.view.reveal(item) }, text);
  }

  // ---- the model ----

  summary() {
    const { view } = this;
    const { t, facts: about, tree } = view;
    const { model } = tree;
    this.shown++;
    const most = about.operators[0]?.[1] ?? 1;
    const with1 = about.open.map((name) => `${name} = 1`).join(', ');
    const run = countText(about.flops);
    return [
      facts([
        [t('nodes'), String(about.nodes)],
        [t('parameters'), countText(about.parameters)],
        [t('size'), bytesText(about.bytes)],
        [t('flops'), about.flops ? (with1 ? t('flopsWith', run, with1) : run) : ''],
        [t('version'), model.opsets.map(({ domain, version }) => `${domain ? domain + ' ' : ''}${version}`).join(', ')],
        [t('producer'), `${model.producer} ${model.producerVersion}`.trim()],
      ]),
      about.notCounted ? h('p', { className: 'quiet small' }, t('flopsLess', about.notCounted)) : null,
      ...[['modelInputs', model.graph.inputs, 'input'], ['modelOutputs', model.graph.outputs, 'output']].map(([title, values, kind]) =>
        section(t(title), ...values.map(({ name, type }) => h('div', { className: 'value' },
          this.link(tree.items.find((item) => item.kind === kind && item.value === name)), h('code', {}, typeText(type)))))),
      section(t('operators'), h('ul', { className: 'rows bars' }, ...about.operators.map(([name, n]) =>
        h('li', {}, h('i', { style: `width:${100 * n / most}%` }), h('button', { className: 'textlink', type: 'button', onclick: () => view.find(name) }, name), h('span', { className: 'num' }, String(n)))))),
      ...['assumed', 'added', 'dropped', 'changed'].map((kind) => model.props[`pt2onnx.${kind}`] &&
        section(t(kind), h('p', { className: 'note' }, model.props[`pt2onnx.${kind}`]))),
      this.metadata(model),
    ];
  }

  metadata(model) {
    const others = Object.entries(model.props).filter(([key]) => !/^pt2onnx\.(assumed|added|dropped|changed)$/.test(key));
    return others.length ? section(this.view.t('metadata'), facts(others)) : null;
  }

  // ---- one item ----

  item(item) {
    const { t } = this.view;
    this.shown++;
    if (item.kind === 'input' || item.kind === 'output')
      return [h('h3', {}, item.value), section(t(item.kind === 'input' ? 'usedBy' : 'madeBy'),
        this.items(item.kind === 'input' ? this.view.tree.usersOf(item, item.value) : [item.scope.maker(item.value)].filter(Boolean))),
      h('code', {}, typeText(item.scope.type(item.value))), this.copyLink(item)];
    return [
      h('div', {}, h('h3', {}, item.node ? item.node.op : item.name), h('p', { className: 'path' }, item.node?.name ?? item.path)),
      item.node ? this.node(item) : null,
      item.kind === 'group' ? section(t('contains'), this.items(item.children)) : null,
      this.copyLink(item),
    ].flat();
  }

  copyLink(item) {
    const { t } = this.view;
    const button = h('button', { className: 'textlink', type: 'button' }, t('link'));
    button.onclick = async () => {
      await navigator.clipboard.writeText(this.view.address(item));
      button.textContent = t('linked');
    };
    return button;
  }

  node(item) {
    const { view } = this;
    const { t } = view;
    const { node, scope } = item;
    const source = node.props['pt2onnx.source'];
    const count = flops(item);
    const attributes = node.attributes.filter((a) => a.kind !== 'graph');
    return [
      facts([
        [t('operator'), node.domain ? `${node.domain}::${node.op}` : ''],
        [t('inModule'), node.props['pt2onnx.module'] ?? ''],
        [t('classOf'), node.props['pt2onnx.class'] ?? ''],
        [t('sourceLine'), source ? h('button', { className: 'textlink', type: 'button', onclick: () => view.showSource(source) }, source) : (node.doc || '')],
        [t('flops'), count ? countText(count) : ''],
      ]),
      attributes.length ? section(t('attributes'), facts(attributes.map((a) => [a.name, h('code', {}, attributeText(a))]))) : null,
      section(t('takes'), ...node.inputs.filter(Boolean).map((name) => this.input(name, scope))),
      section(t('gives'), ...node.outputs.filter(Boolean).map((name) => h('div', { className: 'value' }, name, h('code', {}, typeText(scope.type(name))),
        this.items(view.tree.usersOf(item, name))))),
    ];
  }

  items(all) {
    const rows = all.slice(0, MOST_ROWS).map((item) => h('li', {}, this.link(item)));
    if (all.length > MOST_ROWS)
      rows.push(h('li', {}, this.view.t('nodesN', all.length)));
    return h('ul', { className: 'rows' }, ...rows);
  }

  input(name, scope) {
    const maker = scope.maker(name);
    if (maker)
      return h('div', { className: 'value' }, this.link(maker, name), h('code', {}, typeText(scope.type(name))));
    const tensor = scope.constant(name);
    if (!tensor)
      return h('div', { className: 'value' }, name, h('code', {}, typeText(scope.type(name))));
    if (tensor.literal !== undefined)
      return h('div', { className: 'value' }, name, h('code', {}, String(tensor.literal)));
    return h('div', { className: 'value' }, name, h('code', {}, `${tensor.dtype}[${tensor.dims.join(', ')}] · ${bytesText(tensorBytes(tensor))}`), this.numbers(tensor));
  }

  // ---- weights ----

  numbers(tensor) {
    const { view } = this;
    const places = readable(tensor, view.blob, view.beside);
    const to = h('div', {});
    if (!places)
      to.append(h('p', { className: 'quiet small' }, tensor.external && view.dataAtHand ? view.t('elsewhereFile', tensor.external.location) : view.t('elsewhere')));
    else if (elements(tensor.dims) <= FEW)
      firstNumbers(tensor, places, FEW).then((all) => to.append(h('code', {}, `[${all.map(numberText).join(', ')}]`)));
    else
      this.statistics(tensor, places, to);
    return to;
  }

  async statistics(tensor, places, to) {
    const { t } = this.view;
    const mine = this.shown;
    const about = await describe(tensor, places, () => this.shown === mine);
    if (!about)
      return;
    const most = Math.max(...about.bins, 1);
    const picture = s('svg', { class: 'histogram', viewBox: `0 0 ${BINS} 100`, preserveAspectRatio: 'none', role: 'img',
      'aria-label': t('histogram', numberText(about.low), numberText(about.high)) },
    ...about.bins.map((n, i) => s('rect', { x: i + 0.08, width: 0.84, y: 100 - 100 * n / most, height: 100 * n / most })));
    const part = about.count < about.all ? t('firstOf', countText(about.count)) : '';
    to.append(picture, h('div', { className: 'ends' }, h('span', {}, numberText(about.low)), h('span', {}, part), h('span', {}, numberText(about.high))),
      facts([[t('mean'), numberText(about.mean)], [t('deviation'), numberText(about.deviation)],
        [t('zeros'), about.zeros ? countText(about.zeros) : ''], [t('nans'), about.nans ? countText(about.nans) : '']]));
  }

  // ---- source ----

  /** Lines by file, in order; `chosen` is the one whose nodes are marked. */
  source(chosen) {
    const { view } = this;
    const { t, tree } = view;
    this.shown++;
    if (!tree.bySource.size)
      return [h('p', { className: 'quiet' }, t('noSource'))];
    const files = new Map();
    for (const source of tree.bySource.keys()) {
      const [, file, line] = /^(.*):(\d+)$/.exec(source) ?? [null, source, '0'];
      files.set(file, [...files.get(file) ?? [], [Number(line), source]]);
    }
    const blocks = [...files].sort(([a], [b]) => a.localeCompare(b)).map(([file, lines]) =>
      section(file, h('div', { className: 'lines' }, ...lines.sort(([a], [b]) => a - b).map(([line, source]) => this.sourceLine(line, source, chosen)))));
    const nodes = chosen ? section(chosen, this.items(tree.bySource.get(chosen) ?? [])) : null;
    return [h('p', { className: 'quiet small' }, t('sourceHint')), nodes, ...blocks];
  }

  sourceLine(line, source, chosen) {
    const { view } = this;
    const text = view.lines[source]?.trim() ?? [...new Set(view.tree.bySource.get(source).map((item) => item.node.op))].join(', ');
    return h('button', { type: 'button', 'aria-pressed': String(source === chosen), onclick: () => view.showSource(source) },
      h('span', { className: 'n' }, String(line)), h('span', { className: 'code' }, text), h('span', { className: 'n' }, String(view.tree.bySource.get(source).length)));
  }
}
