// view.test.mjs - the page that `pt2onnx view` writes, opened as a file: summary, graph, source, without a server or a network.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cache, inBrowsers, needs, top } from './browser.mjs';

const program = join(process.env.PT2ONNX_BUILD ?? join(top, 'build'), 'pt2onnx');
const folder = mkdtempSync(join(tmpdir(), 'pt2onnx-'));

inBrowsers((start) => {
  let site;
  before(async () => { site = await start(); });
  after(async () => { await site.stop(); });

  async function view(file, ...options) {
    const out = join(folder, 'view.html');
    execFileSync(program, ['view', file, '-o', out, '-q', ...options]);
    await site.page.goto(pathToFileURL(out).href);
    await site.page.waitForSelector('#viewer[data-shown]');
    return { out, side: () => site.page.locator('#viewer .side').innerText() };
  }

  test('a .pt: its graph, and the lines of the program with their text', async () => {
    const { page } = site;
    const { out, side } = await view(join(top, 'examples/digits_cnn.pt'), '-i', 'x:float32[N,1,8,8]');
    assert.ok(statSync(out).size < 200000, 'larger than the viewer and the graph');
    assert.equal(await page.title(), 'digits_cnn.pt');
    assert.match(await side(), /FLOPs of a run\s+[\d.]+ K with N = 1/);
    await page.getByRole('button', { name: 'Source' }).click();
    await page.getByText('return self.fc(self.drop(torch.flatten(x, 1)))').click();
    assert.equal(await page.locator('#viewer .found .title').textContent(), 'Reshape');
    await page.getByRole('button', { name: 'Fit' }).click();
    await page.locator('#viewer .box', { has: page.locator('.title:text-is("Gemm")') }).first().click();
    assert.match(await side(), /not in this page/);
  });

  test('what was assumed', async () => {
    const { side } = await view(join(top, 'tests/cli/files/net.pt'));
    assert.match(await side(), /Assumed\s+x has rank 2/);
  });

  test('a .onnx keeps its graph and loses its weights', async () => {
    const { squeezenet } = JSON.parse(readFileSync(needs(join(cache, 'models.json'))));
    const model = join(folder, 's.onnx');
    execFileSync(program, [needs(squeezenet.file), '-q', '-o', model, '-i', squeezenet.specs[0]]);
    const { out, side } = await view(model);
    assert.ok(statSync(model).size > 4e6 && statSync(out).size < 250000);
    assert.match(await side(), /Parameters\s+1\.2\d M/);
  });

  test('10,000 nodes of another exporter', async () => {
    await view(needs(join(cache, 'deep.onnx')));
    assert.equal(await site.page.getAttribute('#viewer', 'data-shown'), '10003');
  });

  test('nothing went wrong in the console', () => {
    assert.deepEqual(site.complaints, []);
  });
});
