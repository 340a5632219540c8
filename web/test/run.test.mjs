// run.test.mjs - converted models run in the page, on PyTorch's own inputs; what comes out is held against PyTorch's outputs.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cache, convert, give, inBrowsers, needs, open, top } from './browser.mjs';
import { firstValue, fromHalf, readNpy, toHalf } from '../src/tensors.js';

const models = JSON.parse(readFileSync(needs(join(cache, 'models.json'))));

async function runIt(page) {
  await page.evaluate(() => document.querySelector('#run .outputs').replaceChildren());
  await page.click('#run form button.primary');
  await page.waitForSelector('#run .outputs > *');
}

/** A .npy of float32 numbers. */
function npyOf(shape, numbers) {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')}), }`.padEnd(117) + '\n';
  return Buffer.concat([Buffer.from(`\x93NUMPY\x01\0${String.fromCharCode(header.length)}\0${header}`, 'latin1'), Buffer.from(Float32Array.from(numbers).buffer)]);
}

const outputsOf = (page) => page.evaluate(() => document.querySelector('#run .outputs').outputs.map(({ name, type, dims, data }) => ({ name, type, dims: [...dims], data: Array.from(data, Number) })));

// Strokes on a canvas of 220 by 220.
const DRAWN = {
  0: [[110, 40], [70, 60], [60, 110], [70, 165], [110, 185], [150, 165], [160, 110], [150, 60], [110, 40]],
  1: [[95, 60], [115, 40], [115, 185]],
  7: [[60, 50], [160, 50], [150, 90], [120, 150], [100, 195]],
};

test('float16 there and back', () => {
  for (let bits = 0; bits < 0x7c00; bits++)
    assert.equal(toHalf(fromHalf(bits)), bits);
  assert.equal(toHalf(65519), 0x7bff);
  assert.equal(toHalf(65520), 0x7c00);
  assert.equal(toHalf(1 + 2 ** -11), 0x3c00);          // a half goes to the even one
  assert.equal(toHalf(1 + 3 * 2 ** -11), 0x3c02);
  assert.equal(fromHalf(toHalf(-0.1)).toFixed(4), '-0.1000');
});

test('state has the first values that the metadata tells', () => {
  assert.deepEqual(firstValue({ type: 'float32', shape: [2, 2], value: 0.5 }), { type: 'float32', dims: [2, 2], data: new Float32Array([0.5, 0.5, 0.5, 0.5]) });
  assert.deepEqual(firstValue({ type: 'int64', shape: [2], values: [3, -4] }).data, new BigInt64Array([3n, -4n]));
  assert.deepEqual(firstValue({ type: 'bool', shape: [], value: true }).data, new Uint8Array([1]));
  assert.deepEqual([...firstValue({ type: 'float64', shape: [3], values: ['nan', '-inf', 1] }).data], [NaN, -Infinity, 1]);
  assert.equal(firstValue({ type: 'float32', shape: [40, 40], initializer: 'a.initial' }), null);
});

inBrowsers((start, browser) => {
  let site;
  before(async () => { site = await start(); });
  after(async () => { await site.stop(); });

  async function prepare(file, specs = []) {
    const { page } = site;
    await open(page, needs(file));
    for (const spec of specs)
      await give(page, spec);
    assert.equal(await convert(page), 0);
    await page.waitForSelector('#tab-run:not([hidden])');
    await page.click('#tab-run');
    return page;
  }

  for (const [name, { file, specs, inputs, outputs }] of Object.entries(models)) {
    test(`${name} gives PyTorch's numbers`, async () => {
      const page = await prepare(file, specs);
      for (let i = 0; i < inputs; i++) {
        const row = page.locator('.run-input').nth(i);
        await row.locator('select').first().selectOption('npy');
        await row.locator('input[type=file]').setInputFiles(join(cache, name, `in${i}.npy`));
      }
      await runIt(page);
      assert.ok(await page.locator('#run .outputs section').count() > 0, await page.innerText('#run .outputs'));
      const found = await outputsOf(page);
      assert.equal(found.length, outputs);
      for (let i = 0; i < outputs; i++) {
        const path = join(cache, name, `out${i}.npy`);
        assert.ok(existsSync(path));
        const wanted = await readNpy(new Blob([readFileSync(path)]));
        assert.deepEqual(found[i].dims, wanted.dims);
        const numbers = Array.from(wanted.data, Number);
        const most = numbers.reduce((a, x) => Math.max(a, Math.abs(x)), 0);
        const off = numbers.reduce((a, x, k) => Math.max(a, Math.abs(x - found[i].data[k])), 0);
        console.log(`# ${browser}, ${name}, output ${i}: off by ${(off / most).toExponential(1)} of the largest`);
        assert.ok(most > 0 && off <= 1e-4 * most, `${off} of ${most}`);
      }
    });
  }

  test('random and typed numbers, sizes that are open, what does not fit', async () => {
    const page = await prepare(join(top, 'examples/digits_cnn.pt2'));
    await page.fill('[name=size-s77]', '3');
    await runIt(page);
    assert.deepEqual((await outputsOf(page))[0].dims, [3, 10]);
    assert.match(await page.innerText('#run .outputs'), /Ran in \d+ m?s/);
    assert.match(await page.innerText('#run .outputs'), /\d+ MB of memory/);
    await page.fill('[name=size-s77]', '1');
    await page.locator('.run-input select').first().selectOption('typed');
    const field = page.locator('.run-fields input');
    await field.fill('0.25');
    await runIt(page);
    const same = (await outputsOf(page))[0].data;
    await field.fill(new Array(64).fill('0.25').join(' '));
    await runIt(page);
    assert.deepEqual((await outputsOf(page))[0].data, same);
    await field.fill('1 2 3');
    await runIt(page);
    assert.match(await page.innerText('#run .outputs'), /do not fit: 3 ≠ 64/);
    await page.locator('.run-input select').first().selectOption('npy');
    await page.locator('.run-fields input').setInputFiles(join(cache, 'squeezenet/in0.npy'));
    await runIt(page);
    assert.match(await page.innerText('#run .outputs'), /the file has float32\[2, 3, 64, 64\]/);
  });

  test('an image is drawn to the size of the input', async () => {
    const page = await prepare(models.squeezenet.file, models.squeezenet.specs);
    const png = Buffer.from(await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(100, 50);
      const context = canvas.getContext('2d');
      context.fillStyle = '#ff8000';
      context.fillRect(0, 0, 100, 50);
      return [...new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer())];
    }));
    await page.locator('.run-input select').first().selectOption('image');
    await page.locator('.run-fields input[type=file]').setInputFiles({ name: 'orange.png', mimeType: 'image/png', buffer: png });
    await runIt(page);
    const image = (await outputsOf(page))[0].data;
    // The same numbers in a file cannot be told apart: 1, 128 / 255 and 0, each 64 * 64 times.
    const npy = npyOf([1, 3, 64, 64], [1, 128 / 255, 0].flatMap((x) => new Array(64 * 64).fill(x)));
    await page.locator('.run-input select').first().selectOption('npy');
    await page.locator('.run-fields input[type=file]').setInputFiles({ name: 'orange.npy', mimeType: 'application/octet-stream', buffer: npy });
    await runIt(page);
    const same = (await outputsOf(page))[0].data;
    assert.ok(image.length === 1000 && image.every((x, i) => Math.abs(x - same[i]) < 1e-5));
  });

  for (const [digit, points] of Object.entries(DRAWN)) {
    test(`a drawn ${digit} is read as ${digit}`, async () => {
      const page = await prepare(join(top, 'examples/digits_cnn.pt2'));
      const paper = await page.locator('.paper').boundingBox();
      const at = ([x, y]) => [paper.x + x, paper.y + y];
      await page.mouse.move(...at(points[0]));
      await page.mouse.down();
      for (const point of points.slice(1))
        await page.mouse.move(...at(point), { steps: 6 });
      await page.mouse.up();
      await page.waitForFunction((wanted) => document.querySelector('.guess').textContent === wanted, digit);
    });
  }

  test('nothing went wrong in the console', () => {
    assert.deepEqual(site.complaints, []);
  });
});
