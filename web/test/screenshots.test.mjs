// screenshots.test.mjs - the pictures of the README. They are taken in each run, and kept in the folder SCREENSHOTS where it is given.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cache, convert, give, needs, open, start, top } from './browser.mjs';

const folder = process.env.SCREENSHOTS ?? mkdtempSync(join(tmpdir(), 'pt2onnx-'));
mkdirSync(folder, { recursive: true });

async function picture(page, name) {
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: 'disabled' });
  assert.ok(statSync(path).size > 10000);
}

test('the picture of a network', async () => {
  const site = await start({ viewport: { width: 1200, height: 760 } });
  try {
    const { page } = site;
    const { squeezenet } = JSON.parse(readFileSync(needs(join(cache, 'models.json'))));
    await open(page, squeezenet.file);
    for (const spec of squeezenet.specs)
      await give(page, spec);
    assert.equal(await convert(page), 0);
    await page.waitForSelector('#viewer[data-shown]');
    await page.evaluate(async () => {
      const { viewer } = document.querySelector('#viewer');
      await viewer.reveal(viewer.tree.leaves.find((item) => item.node.name === '/features/3/expand3x3/Conv'));
      document.querySelector('#tabs').scrollIntoView();
    });
    await page.locator('#viewer .histogram').first().waitFor();
    await picture(page, 'web-picture');
  } finally {
    await site.stop();
  }
});

test('a drawn digit', async () => {
  const site = await start({ viewport: { width: 1200, height: 760 } });
  try {
    const { page } = site;
    await open(page, join(top, 'examples/digits_cnn.pt2'));
    assert.equal(await convert(page), 0);
    await page.waitForSelector('#tab-run:not([hidden])');
    await page.click('#tab-run');
    const paper = await page.locator('.paper').boundingBox();
    const points = [[60, 50], [160, 50], [150, 90], [120, 150], [100, 195]];
    await page.mouse.move(paper.x + points[0][0], paper.y + points[0][1]);
    await page.mouse.down();
    for (const [x, y] of points.slice(1))
      await page.mouse.move(paper.x + x, paper.y + y, { steps: 10 });
    await page.mouse.up();
    await page.waitForFunction(() => document.querySelector('.guess').textContent === '7');
    await page.evaluate(() => document.querySelector('#result').scrollIntoView());
    await picture(page, 'web-digits');
  } finally {
    await site.stop();
  }
});
