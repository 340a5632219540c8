// build.mjs - the page into web/dist: node build.mjs [--wasm FOLDER]. FOLDER has pt2onnx.js and pt2onnx.wasm of
// web/wasm/CMakeLists.txt. What is in web/dist afterwards is all that a server needs.
// node build.mjs --viewer FILE writes the page of `pt2onnx view` instead, which is web/viewer/view.html; --npm FOLDER what
// `npm pack` makes the npm package of.
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const { values } = parseArgs({ options: { wasm: { type: 'string', default: join(here, '../build-wasm') }, viewer: { type: 'string' }, npm: { type: 'string' } } });
const wasm = resolve(values.wasm);
const dist = join(here, 'dist');
const usual = { bundle: true, format: 'esm', target: ['chrome109', 'firefox115', 'safari16'], minify: true, logLevel: 'warning' };

/** import code from 'inline:FILE': a worker of the viewer as text, so that a page can be one file. */
const inline = {
  name: 'inline',
  setup(build) {
    build.onResolve({ filter: /^inline:/ }, ({ path }) => ({ path: join(here, 'viewer', path.slice('inline:'.length)), namespace: 'inline' }));
    build.onLoad({ filter: /./, namespace: 'inline' }, async ({ path }) => {
      const { outputFiles } = await esbuild.build({ ...usual, format: 'iife', entryPoints: [path], write: false });
      return { contents: outputFiles[0].text, loader: 'text' };
    });
  },
};

async function bundle(entries, outdir = dist) {
  await esbuild.build({
    ...usual,
    entryPoints: entries.map((name) => join(here, 'src', name)),
    outdir,
    plugins: [inline],
    alias: { 'pt2onnx-library': join(wasm, 'pt2onnx.js') },
  });
}

function copy(from, names) {
  for (const name of names)
    copyFileSync(join(from, name), join(dist, name));
}

/** The service worker knows all files, and has a new name when one of them has changed. */
async function serviceWorker() {
  const files = readdirSync(dist).sort();
  const hash = createHash('sha256');
  for (const name of files)
    hash.update(name).update(readFileSync(join(dist, name)));
  await esbuild.build({
    ...usual,
    entryPoints: [join(here, 'src/service-worker.js')],
    outdir: dist,
    define: { VERSION: JSON.stringify(`pt2onnx-${hash.digest('hex').slice(0, 16)}`), FILES: JSON.stringify(['./', ...files]) },
  });
}

/** The licenses of what is bundled, as they ask for. */
function licenses() {
  const parts = ['@dagrejs/dagre', '@dagrejs/graphlib', 'onnxruntime-web', 'onnxruntime-common'].map((name) => {
    const folder = join(here, 'node_modules', name);
    const file = readdirSync(folder).find((f) => /^licen[sc]e/i.test(f));
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return `${name} ${version}: ${license}\n\n${file ? readFileSync(join(folder, file), 'utf8') : ''}`;
  });
  writeFileSync(join(dist, 'licenses.txt'), parts.join('\n\n'));
}

/** web/viewer/view.html, which is committed: the program has it in itself, and is built without npm. */
async function viewPage() {
  const { outputFiles } = await esbuild.build({ ...usual, format: 'iife', entryPoints: [join(here, 'viewer/view.js')], plugins: [inline], write: false });
  const css = await esbuild.transform(['src/page.css', 'viewer/viewer.css'].map((name) => readFileSync(join(here, name), 'utf8')).join('\n'), { loader: 'css', minify: true });
  const page = readFileSync(join(here, 'viewer/view.template.html'), 'utf8')
    .replace('/*STYLE*/', () => css.code.trim()).replace('/*SCRIPT*/', () => outputFiles[0].text.trim());
  writeFileSync(resolve(values.viewer), page);
}

/** The npm package: web/npm, the library for pages and the program for Node. */
async function npmPackage() {
  const to = resolve(values.npm);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  for (const [from, names] of [[join(here, 'npm'), readdirSync(join(here, 'npm'))], [join(here, '..'), ['LICENSE']],
    [wasm, ['pt2onnx.wasm', 'pt2onnx-node.cjs', 'pt2onnx-node.wasm']]])
    for (const name of names)
      copyFileSync(join(from, name), join(to, name));
  await bundle(['convert-worker.js'], to);
}

async function page() {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist);
  copy(join(here, 'src'), ['index.html']);
  writeFileSync(join(dist, 'page.css'), ['src/page.css', 'viewer/viewer.css'].map((name) => readFileSync(join(here, name), 'utf8')).join('\n'));
  copy(join(here, 'static'), readdirSync(join(here, 'static')));
  copy(wasm, ['pt2onnx.wasm']);
  copy(join(here, '../examples'), ['digits_cnn.pt2']);
  copy(join(here, 'node_modules/onnxruntime-web/dist'), ['ort-wasm-simd-threaded.wasm']);
  await bundle(['page.js', 'convert-worker.js', 'run-worker.js']);
  licenses();
  await serviceWorker();
  writeFileSync(join(dist, '.nojekyll'), '');       // so that static hosts serve every file as it is
}

if (values.npm)
  await npmPackage();
else
  await (values.viewer ? viewPage() : page());
