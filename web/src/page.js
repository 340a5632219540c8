// page.js - the page: a file comes in, is looked at, converted, drawn and run. What each of these is lies in a file of
// its own; here is only what stands where, and which of it is shown when.
import { call, Stopped } from './library.js';
import { editedOf, inputsOf, specOf, NoSizes, TYPES } from './inputs.js';
import { addRows, LANGUAGES, currentLanguage, setLanguage, t, translate } from './strings.js';
import { Viewer } from '../viewer/viewer.js';
import { Runner } from './run.js';
import { rows as viewerRows } from '../viewer/strings.js';

addRows(viewerRows);

const $ = (id) => document.getElementById(id);

const state = {
  file: null,       // the File (or Blob) that was given
  name: '',
  inputs: [],       // of inputs.js
  running: null,    // AbortController of the conversion
  result: null,     // { files, name }: what came of it
  viewer: null,
  runner: null,
};

// ---- small things ----

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function bytesText(n) {
  const units = ['B', 'KB', 'MB', 'GB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++)
    n /= 1000;
  return `${n < 10 && i ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

export function timeText(milliseconds) {
  return milliseconds < 1000 ? `${Math.max(1, Math.round(milliseconds))} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

// What the browser keeps between visits; a private window may refuse.
function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch { /* it is asked again next time */ }
}

function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function show(id, visible) {
  $(id).hidden = !visible;
}

// ---- language and theme ----

function chooseLanguage(language) {
  document.documentElement.lang = setLanguage(language) === 'zh' ? 'zh-CN' : 'en';
  translate(document);
  renderInputs(editedInputs());
  document.dispatchEvent(new Event('language'));
}

// A site that has this page in it says its language: ?lang=zh. It holds until the user chooses another here.
function askedLanguage() {
  return new URLSearchParams(location.search).get('lang')?.slice(0, 2);
}

function forgetAskedLanguage() {
  const address = new URL(location);
  address.searchParams.delete('lang');
  history.replaceState(null, '', address);
}

function startLanguage() {
  const wanted = askedLanguage() ?? remembered('language') ?? navigator.language.slice(0, 2);
  for (const [code, name] of Object.entries(LANGUAGES))
    $('language').append(new Option(name, code));
  chooseLanguage(wanted);
  $('language').value = currentLanguage();
  $('language').onchange = (event) => {
    remember('language', event.target.value);
    forgetAskedLanguage();
    chooseLanguage(event.target.value);
  };
}

function startTheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const wanted = remembered('theme') ?? (dark.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = wanted;
  };
  dark.onchange = apply;
  apply();
  $('theme').onclick = () => {
    remember('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    document.documentElement.dataset.theme = remembered('theme') ?? 'dark';
  };
}

// ---- inputs and options ----

function editedInputs() {
  return [...document.querySelectorAll('.input-row')].map((row) => ({
    type: row.querySelector('select')?.value ?? '',
    sizes: row.querySelector('[name=sizes]')?.value ?? '',
    value: row.querySelector('[name=value]')?.value ?? '',
  }));
}

function inputRow(input, edited) {
  const label = element('code', { textContent: input.name });
  if (input.kind === 'value') {
    const field = element('input', { name: 'value', value: edited?.value ?? '', placeholder: input.declared, autocomplete: 'off' });
    field.setAttribute('aria-label', `${input.name}: ${t('value')}`);
    return element('div', { className: 'input-row value' }, label, field);
  }
  const type = element('select', {}, ...(input.type ? [] : [new Option(t('unknownType'), '')]), ...TYPES.map((name) => new Option(name, name)));
  type.value = edited?.type ?? input.type;
  type.setAttribute('aria-label', `${input.name}: ${t('type')}`);
  const sizes = element('input', { name: 'sizes', value: edited?.sizes ?? input.sizes, placeholder: `${t('sizes')}: N, 3, 224, 224`, autocomplete: 'off', spellcheck: false });
  sizes.setAttribute('aria-label', `${input.name}: ${t('sizes')}`);
  return element('div', { className: 'input-row' }, label, type, sizes);
}

function renderInputs(edited = []) {
  $('input-rows').replaceChildren(...state.inputs.map((input, i) => inputRow(input, edited[i])));
  show('inputs', state.inputs.length > 0);
}

// What an error says would help, into the fields.
function fillInputs(specs) {
  const edited = editedInputs();
  renderInputs(state.inputs.map((input, i) => editedOf(input, specs) ?? edited[i]));
  showCommand();
  document.querySelector('.input-row input')?.focus();
}

// [option, value] pairs as the command line has them; throws NoSizes.
function chosenOptions() {
  const pairs = [];
  const edited = editedInputs();
  state.inputs.forEach((input, i) => {
    const spec = specOf(input, edited[i]);
    if (spec)
      pairs.push(['input', spec]);
  });
  const usual = { opset: '18', weights: 'auto', target: 'ort', mode: 'eval', state: 'io', module: '' };
  for (const [name, value] of new FormData($('settings')))
    if (name !== 'sizes' && name !== 'value' && value.trim() !== (usual[name] ?? ''))
      pairs.push([name, value.trim()]);
  return pairs;
}

const FLAGS = ['dynamic', 'keep-weights'];

function shellWord(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function showCommand() {
  let pairs = [];
  try {
    pairs = chosenOptions();
  } catch (error) {
    if (!(error instanceof NoSizes))
      throw error;
  }
  const words = pairs.flatMap(([name, value]) => {
    if (name === 'input')
      return ['-i', value];
    return FLAGS.includes(name) ? [`--${name}`] : [`--${name}`, value];
  });
  $('command').textContent = ['pt2onnx', state.name, ...words].map(shellWord).join(' ');
}

// ---- a file comes in ----

async function open(file, name = file.name) {
  state.running?.abort();
  state.viewer?.end();
  state.runner?.end();
  Object.assign(state, { viewer: null, runner: null });
  Object.assign(state, { file, name, inputs: [], result: null });
  $('program-text').textContent = '';
  show('start', false);
  show('work', true);
  for (const id of ['result', 'tabs', 'picture', 'run', 'program', 'settings'])
    show(id, false);
  $('file-name').textContent = name;
  $('file-kind').textContent = bytesText(file.size);
  renderInputs();
  $('main').focus({ preventScroll: true });
  if (/\.onnx$/i.test(name)) {
    showModel({ name, files: [{ name, blob: file }] });
    return;
  }
  show('settings', true);
  const [shown, listed] = await Promise.all([[], [['show-json', '1']]].map((options) => call('show', file, name, options)
    .catch((error) => ({ status: 3, message: String(error.message ?? error), text: '' }))));
  if (state.file !== file)
    return;
  if (shown.status !== 0 || listed.status !== 0) {
    showResult(shown.status !== 0 ? shown : listed);
    show('settings', false);
    return;
  }
  state.inputs = inputsOf(JSON.parse(listed.text).arguments);
  const [head] = shown.text.split('\n');
  $('file-kind').textContent = `${bytesText(file.size)} · ${head.slice(name.length + 2)}`;
  $('program-text').textContent = shown.text;
  renderInputs();
  showCommand();
  show('tabs', true);
  show('tab-picture', false);
  show('tab-run', false);
  selectTab('program');
}

function forget() {
  state.running?.abort();
  state.file = null;
  show('work', false);
  show('start', true);
  $('choose').focus();
}

// ---- converting ----

async function convert() {
  let options = [];
  try {
    options = chosenOptions();
  } catch (error) {
    if (!(error instanceof NoSizes))
      throw error;
    $('stage').textContent = t('sizesMissing', error.message);
    return;
  }
  const running = state.running = new AbortController();
  const notes = [];
  busy(true);
  try {
    const result = await call('convert', state.file, state.name, options, {
      signal: running.signal,
      note: (kind, text) => notes.push([kind, text]),
      progress: showProgress,
    });
    showResult(result, notes);
    if (result.status === 0)
      await showModel({ name: result.files[0].name, files: result.files, lines: result.lines });
  } catch (error) {
    if (error instanceof Stopped)
      $('stage').textContent = t('stopped');
    else
      showResult({ status: 3, message: String(error.message ?? error) }, notes);
  } finally {
    if (state.running === running)
      state.running = null;
    busy(false);
  }
}

function busy(working) {
  show('stop', working);
  show('progress', working);
  $('convert').disabled = working;
  $('settings').setAttribute('aria-busy', working);
  if (working)
    $('stage').textContent = t('converting');
  else if ($('stage').textContent !== t('stopped'))
    $('stage').textContent = '';
}

function showProgress(stage, share) {
  if (share >= 0)
    $('progress').value = share;
  else
    $('progress').removeAttribute('value');
  $('stage').textContent = stage;
}

function saveLink({ name, blob }) {
  const link = element('a', { className: 'button', download: name, href: URL.createObjectURL(blob), blob });
  link.textContent = `${t('save', name)} · ${bytesText(blob.size)}`;
  return link;
}

function showResult(result, notes = []) {
  const failed = result.status !== 0;
  $('result').className = `card ${failed ? 'failed' : 'done'}`;
  $('result').dataset.status = result.status;
  $('result').dataset.memory = result.memory ?? '';
  $('result-title').textContent = failed ? t('failed') : t('converted', timeText(result.milliseconds));
  $('error').textContent = result.message ?? '';
  show('error', failed);
  const wanted = result.wanted ?? [];
  const fits = wanted.length > 0 && wanted.every((spec) => state.inputs.some((input) => editedOf(input, [spec])));
  $('wanted-specs').textContent = wanted.map((spec) => `-i ${shellWord(spec)}`).join(' ');
  $('fill').onclick = () => fillInputs(wanted);
  show('fill', fits);
  show('wanted', wanted.length > 0);
  for (const link of $('saves').children)
    URL.revokeObjectURL(link.href);
  $('saves').replaceChildren(...(result.files ?? []).map(saveLink));
  show('saves', !failed);
  const told = notes.filter(([kind]) => kind !== 'info');
  $('note-list').replaceChildren(...told.map(([kind, text]) =>
    element('li', {}, element('b', { textContent: t(`note.${kind}`) }), element('span', { textContent: text }))));
  show('notes', told.length > 0);
  show('result', true);
  if (!failed)
    $('convert').textContent = t('again');
}

// ---- the model: picture, run ----

async function showModel(result) {
  state.result = result;
  state.viewer?.end();
  state.viewer = null;
  show('tabs', true);
  show('tab-picture', true);
  show('tab-run', false);
  show('tab-program', $('program-text').textContent !== '');
  await drawPicture();
}

async function drawPicture() {
  const { result } = state;
  selectTab('picture');
  state.viewer?.end();
  const viewer = state.viewer = new Viewer($('viewer'), { t, name: result.name.replace(/\.onnx$/, '') });
  try {
    await viewer.show(result.files[0].blob, { lines: result.lines, beside: (name) => result.files.find((file) => file.name === name)?.blob });
    if (state.viewer !== viewer)
      return;
    state.runner?.end();
    state.runner = new Runner($('run'), { t, bytesText, timeText });
    state.runner.show(result.files, viewer.tree.model.graph.inputs, viewer.tree.model.props);
    show('tab-run', true);
  } catch (error) {
    if (state.viewer !== viewer)
      return;
    viewer.end();
    state.viewer = null;
    showResult({ status: 3, message: t('noModel', error.message) });
    show('tabs', false);
    show('picture', false);
    console.warn(error);
  }
}

function selectTab(name) {
  for (const tab of ['picture', 'run', 'program']) {
    $(`tab-${tab}`).setAttribute('aria-selected', tab === name);
    $(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    show(tab, tab === name);
  }
}

function startTabs() {
  const tabs = () => [...$('tabs').children].filter((tab) => !tab.hidden);
  for (const tab of $('tabs').children)
    tab.onclick = () => selectTab(tab.id.slice(4));
  $('tabs').onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step)
      return;
    const all = tabs();
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    next.click();
  };
}

// ---- what the user does ----

function startDrop() {
  const over = (on) => (event) => {
    event.preventDefault();
    document.body.classList.toggle('over', on);
  };
  addEventListener('dragover', over(true));
  addEventListener('dragleave', over(false));
  addEventListener('drop', (event) => {
    over(false)(event);
    const [file] = event.dataTransfer.files;
    if (file)
      open(file);
  });
}

function start() {
  for (let opset = 28; opset >= 9; opset--)
    document.forms.settings.opset.append(new Option(opset, opset, opset === 18, opset === 18));
  startTheme();
  startLanguage();
  startTabs();
  startDrop();
  document.addEventListener('language', () => state.viewer && drawPicture());
  $('choose').onclick = () => $('file').click();
  $('file').onchange = () => {
    if ($('file').files[0])
      open($('file').files[0]);
    $('file').value = '';
  };
  $('example').onclick = async () => open(await (await fetch('digits_cnn.pt2')).blob(), 'digits_cnn.pt2');
  $('other').onclick = forget;
  $('settings').onsubmit = (event) => {
    event.preventDefault();
    convert();
  };
  $('settings').oninput = showCommand;
  $('stop').onclick = () => state.running?.abort();
  $('copy').onclick = async () => {
    await navigator.clipboard.writeText($('command').textContent);
    $('copy').textContent = t('copied');
    setTimeout(() => { $('copy').textContent = t('copy'); }, 1500);
  };
  if ('serviceWorker' in navigator && location.protocol !== 'file:')
    navigator.serviceWorker.register('service-worker.js');
  document.documentElement.dataset.ready = 'true';
}

start();
