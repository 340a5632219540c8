// view.js - the page that `pt2onnx view` writes: one model in one file. src/view_page.c puts its name, its lines of source and
// the model itself into the document.
import { rows } from './strings.js';
import { Viewer } from './viewer.js';

const chinese = navigator.language.startsWith('zh');

function t(key, ...args) {
  return rows[key][Number(chinese)].replace(/\{(\d)\}/g, (_, i) => args[i]);
}

const text = (id) => document.getElementById(id).textContent;
const name = JSON.parse(text('name'));
const bytes = Uint8Array.from(atob(text('model').trim()), (c) => c.charCodeAt(0));

document.title = name;
document.documentElement.lang = chinese ? 'zh-CN' : 'en';
document.getElementById('title').textContent = name;

const dark = matchMedia('(prefers-color-scheme: dark)');
const theme = (isDark) => { document.documentElement.dataset.theme = isDark ? 'dark' : 'light'; };
theme(dark.matches);
dark.onchange = () => theme(dark.matches);
document.getElementById('theme').onclick = () => theme(document.documentElement.dataset.theme !== 'dark');

const root = document.getElementById('viewer');
new Viewer(root, { t, name: name.replace(/\.[^.]*$/, '') })
  .show(new Blob([bytes]), { lines: JSON.parse(text('lines')), dataAtHand: false })
  .catch((error) => {
    root.textContent = t('noModel', error.message);
    throw error;
  });
