// run.js - the model runs: values for its inputs, ONNX Runtime in a worker, what came out, how long it took.
import { h, save } from '../viewer/dom.js';
import { numberText } from '../viewer/numbers.js';
import { typeText } from '../viewer/onnx.js';
import { drawable, pictureOf } from './digits.js';
import { ARRAYS, SCALES, Unfit, convert, count, firstValue, imageAxes, numbersOf, randomNumbers, readImage, readNpy, typedNumbers, writeNpy } from './tensors.js';

const MOST_BYTES = 1.6e9;           // of a model: ONNX Runtime has 4 GB for it, its copy and what it computes
const SHOWN = 100;                  // numbers of an output
const RANKED = 1000;                // classes of an output whose largest are listed
const USUAL = 1;                    // what an open size is at first

export class Session {
  constructor() {
    this.worker = new Worker('run-worker.js', { type: 'module' });
    this.waiting = new Map();
    this.ticket = 0;
    this.worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.ticket);
      this.waiting.delete(data.ticket);
      if (data.error === undefined)
        resolve(data);
      else
        reject(new Error(data.error));
    };
    this.worker.onerror = (event) => this.fail(new Error(event.message || 'the worker failed'));
  }

  ask(message) {
    return new Promise((resolve, reject) => {
      const ticket = ++this.ticket;
      this.waiting.set(ticket, { resolve, reject });
      this.worker.postMessage({ ticket, ...message });
    });
  }

  fail(error) {
    for (const { reject } of this.waiting.values())
      reject(error);
    this.waiting.clear();
  }

  end() {
    this.worker.terminate();
    this.fail(new Error('stopped'));
  }
}

/** The panel in which a model runs. */
export class Runner {
  /** told: { t, bytesText, timeText } */
  constructor(root, told) {
    this.root = root;
    Object.assign(this, told);
  }

  /** files: the model and its weights, inputs: of its graph ({ name, type }), props: the metadata of the model. */
  show(files, inputs, props = {}) {
    this.end();
    this.first = JSON.parse(props['pt2onnx.state.initial'] ?? '{}');
    this.files = files;
    this.inputs = inputs;
    this.sizes = new Map();
    for (const { type } of inputs)
      for (const dim of type?.dims ?? [])
        if (typeof dim === 'string' || dim === null)
          this.sizes.set(dim ?? '?', USUAL);
    const { t } = this;
    if (files.reduce((n, { blob }) => n + blob.size, 0) > MOST_BYTES) {
      this.root.replaceChildren(h('p', { className: 'card' }, t('tooLarge')));
      return;
    }
    this.rows = inputs.map((input) => this.inputRow(input));
    this.go = h('button', { className: 'primary', type: 'submit' }, t('runIt'));
    this.halt = h('button', { type: 'button', hidden: true, onclick: () => this.stopRun() }, t('stop'));
    this.status = h('span', { className: 'quiet', role: 'status' });
    this.results = h('div', { className: 'outputs', 'aria-live': 'polite' });
    const form = h('form', { className: 'card' }, this.sizeFields(), ...this.rows.map((row) => row.element),
      h('p', { className: 'row' }, this.go, this.halt, this.status));
    form.onsubmit = (event) => {
      event.preventDefault();
      this.runForm();
    };
    this.root.replaceChildren(...[this.isDigits() ? this.digits() : null, form, this.results].filter(Boolean));
  }

  isDigits() {
    const [input] = this.inputs;
    return this.inputs.length === 1 && /digits/.test(this.files[0].name) && input.type?.dims?.slice(1).join() === '1,8,8';
  }

  // ---- the form ----

  sizeFields() {
    if (!this.sizes.size)
      return null;
    return h('fieldset', { className: 'grid' }, ...[...this.sizes].map(([name, value]) => {
      const field = h('input', { type: 'number', min: 0, value, name: `size-${name}`, oninput: () => this.sizes.set(name, Number(field.value)) });
      return h('label', {}, h('span', {}, this.t('sizeIs', name)), field);
    }));
  }

  /** How an input gets its numbers: a choice, and the field that the choice needs. */
  inputRow(input) {
    const { t } = this;
    const { type } = input;
    const possible = type?.kind === 'tensor' && ARRAYS[type.dtype] && type.dims;
    const title = h('div', {}, h('code', {}, h('b', {}, input.name)), ' ', h('code', { className: 'quiet' }, typeText(type)));
    if (!possible)
      return { input, element: h('div', { className: 'run-input' }, title, h('p', { className: 'quiet' }, t('cannotGive'))), value: null };
    const first = this.first[input.name] && firstValue(this.first[input.name]);
    const kinds = [...(first ? ['first'] : []), 'random', 'typed', 'npy', ...(imageAxes(type.dims) ? ['image'] : [])];
    const choice = h('select', { 'aria-label': `${input.name}: ${t('valuesFrom')}` }, ...kinds.map((kind) => new Option(t(`from.${kind}`), kind)));
    const text = h('input', { placeholder: '0.5 1 2 …', 'aria-label': `${input.name}: ${t('value')}`, autocomplete: 'off' });
    const npy = h('input', { type: 'file', accept: '.npy', 'aria-label': `${input.name}: .npy` });
    const image = h('input', { type: 'file', accept: 'image/*', 'aria-label': `${input.name}: ${t('from.image')}` });
    const scale = h('select', { 'aria-label': t('scale') }, ...Object.keys(SCALES).map((kind) => new Option(t(`scale.${kind}`), kind)));
    const fields = { first: [], random: [], typed: [text], npy: [npy], image: [image, scale] };
    const holder = h('div', { className: 'run-fields' });
    choice.onchange = () => holder.replaceChildren(...fields[choice.value]);
    const value = async () => {
      if (choice.value === 'first')
        return first;
      if (choice.value === 'npy')
        return this.fromNpy(input, npy.files[0]);
      const dims = type.dims.map((d) => (typeof d === 'number' ? d : this.sizes.get(d ?? '?')));
      if (choice.value === 'random')
        return { type: type.dtype, dims, data: randomNumbers(type.dtype, dims, this.seed) };
      if (choice.value === 'typed')
        return { type: type.dtype, dims, data: typedNumbers(text.value, type.dtype, dims) };
      if (!image.files[0])
        throw new Unfit(t('chooseFile', input.name));
      return { type: type.dtype, dims, data: await readImage(image.files[0], type.dtype, dims, scale.value) };
    };
    return { input, value, element: h('div', { className: 'run-input' }, title, choice, holder) };
  }

  async fromNpy({ name, type }, file) {
    if (!file)
      throw new Unfit(this.t('chooseFile', name));
    const found = await readNpy(file);
    const fits = found.dims.length === type.dims.length && found.dims.every((d, i) => typeof type.dims[i] !== 'number' || type.dims[i] === d);
    if (!fits)
      throw new Unfit(this.t('otherSizes', name, `${found.type}[${found.dims.join(', ')}]`, typeText(type)));
    if (found.type === type.dtype)
      return found;
    this.remarks.push(this.t('converts', name, found.type, type.dtype));
    return { type: type.dtype, dims: found.dims, data: convert(numbersOf(found), type.dtype) };
  }

  // ---- running ----

  async session() {
    if (!this.loading) {
      const session = this.current = new Session();
      this.loading = session.ask({ kind: 'load', model: this.files[0].blob, data: this.files.slice(1) });
      this.loading.catch(() => { this.loading = null; });
    }
    this.loaded = await this.loading;
    return this.current;
  }

  async run(feeds) {
    const session = await this.session();
    return session.ask({ kind: 'run', feeds });
  }

  async runForm() {
    const { t } = this;
    this.seed = (this.seed ?? 0) + 1;
    this.remarks = [];
    this.busy(true);
    try {
      const feeds = {};
      for (const row of this.rows) {
        if (!row.value)
          throw new Unfit(`${row.input.name}: ${t('cannotGive')}`);
        feeds[row.input.name] = await row.value();
      }
      this.status.textContent = this.loading ? t('runs') : t('loads');
      const answer = await this.run(feeds);
      this.showOutputs(answer);
    } catch (error) {
      this.results.replaceChildren(h('pre', { className: 'bad' }, error instanceof Unfit ? t('unfit', error.message) : error.message));
    } finally {
      this.busy(false);
    }
  }

  busy(working) {
    this.go.disabled = working;
    this.halt.hidden = !working;
    if (!working)
      this.status.textContent = '';
  }

  stopRun() {
    this.current?.end();
    this.loading = null;
  }

  // ---- what came out ----

  showOutputs({ milliseconds, outputs, memory }) {
    const { t } = this;
    this.results.dataset.milliseconds = milliseconds;
    this.results.outputs = outputs;
    this.results.replaceChildren(
      h('p', { className: 'row' }, h('b', {}, t('ran', this.timeText(milliseconds))),
        h('span', { className: 'quiet' }, t('loadedIn', this.timeText(this.loaded.milliseconds))), h('span', { className: 'quiet' }, t('memory', this.bytesText(memory)))),
      ...this.remarks.map((text) => h('p', { className: 'quiet' }, text)),
      ...outputs.map((output) => this.output(output)));
  }

  output(output) {
    const { t } = this;
    const { name, type, dims, data } = output;
    const head = h('p', { className: 'row' }, h('code', {}, h('b', {}, name)), h('code', { className: 'quiet' }, `${type}[${dims.join(', ')}]`));
    if (!ARRAYS[type])
      return h('section', { className: 'card' }, head, h('pre', {}, Array.from(data).slice(0, SHOWN).join(', ')));
    head.append(h('button', { type: 'button', onclick: () => save(writeNpy(output), `${name.replace(/[^\w.-]+/g, '_')}.npy`) }, '.npy'));
    const numbers = numbersOf({ type, data: data.slice(0, Math.max(SHOWN, RANKED)) });
    const classes = dims.at(-1) ?? 1;
    const ranked = /float/.test(type) && classes > 1 && classes <= RANKED && count(dims) === classes ? this.ranking(numbers.slice(0, classes)) : null;
    const more = data.length > SHOWN ? ' …' : '';
    return h('section', { className: 'card' }, head, ranked, h('pre', { className: 'numbers', tabIndex: 0, 'aria-label': t('numbersOf', name) }, rowsText(numbers.slice(0, SHOWN), classes) + more));
  }

  /** The five largest, with their places. */
  ranking(numbers) {
    const order = numbers.map((x, i) => [x, i]).sort(([a], [b]) => b - a).slice(0, 5);
    const low = Math.min(...numbers);
    const width = Math.max(1e-30, order[0][0] - low);
    return h('ol', { className: 'ranking' }, ...order.map(([x, i]) => h('li', {}, h('code', {}, String(i)), h('i', {}, h('span', { style: `width:${100 * (x - low) / width}%` })), h('code', {}, numberText(x)))));
  }

  // ---- the digits example ----

  digits() {
    const { t } = this;
    const canvas = h('canvas', { className: 'paper', 'aria-label': t('drawDigit') });
    const small = h('canvas', { className: 'small-picture', width: 8, height: 8, 'aria-hidden': 'true' });
    const guess = h('output', { className: 'guess', 'aria-live': 'polite' }, '–');
    const bars = h('ol', { className: 'ranking all' });
    let drawing = 0;
    const read = async () => {
      const mine = ++drawing;
      const picture = pictureOf(canvas);
      paint(small, picture);
      const { outputs } = await this.run({ [this.inputs[0].name]: { type: 'float32', dims: [1, 1, 8, 8], data: picture } });
      if (mine !== drawing)
        return;
      const logits = [...outputs[0].data];
      const most = Math.max(...logits);
      const shares = logits.map((x) => Math.exp(x - most));
      const sum = shares.reduce((a, b) => a + b);
      guess.textContent = String(logits.indexOf(most));
      bars.replaceChildren(...shares.map((x, i) => h('li', {}, h('code', {}, String(i)), h('i', {}, h('span', { style: `width:${100 * x / sum}%` })), h('code', {}, `${Math.round(100 * x / sum)}%`))));
    };
    drawable(canvas, read);
    const clear = h('button', { type: 'button', onclick: () => {
      drawing++;
      canvas.getContext('2d').clearRect(0, 0, canvas.width, canvas.height);
      paint(small, new Float32Array(64));
      guess.textContent = '–';
      bars.replaceChildren();
    } }, t('clear'));
    this.session().catch(() => {});
    return h('section', { className: 'card digits' }, h('div', {}, h('h3', {}, t('drawDigit')), canvas, h('p', { className: 'row' }, clear, h('span', { className: 'quiet small' }, t('seen')), small)), guess, bars);
  }

  end() {
    this.current?.end();
    this.current = this.loading = null;
    this.root.replaceChildren();
  }
}

function paint(canvas, picture) {
  const context = canvas.getContext('2d');
  const image = context.createImageData(8, 8);
  picture.forEach((x, i) => image.data.set([128, 128, 128, 255 * x], 4 * i));
  context.putImageData(image, 0, 0);
}

/** A line for each row of the last axis, if rows are short. */
function rowsText(numbers, columns) {
  const texts = numbers.map(numberText);
  if (columns > 20)
    return texts.join(' ');
  const width = Math.max(...texts.map((text) => text.length), 1);
  const lines = [];
  for (let i = 0; i < texts.length; i += columns)
    lines.push(texts.slice(i, i + columns).map((text) => text.padStart(width)).join(' '));
  return lines.join('\n');
}
