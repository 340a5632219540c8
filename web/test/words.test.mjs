// words.test.mjs - the page in Chinese, on a phone, by keyboard, and what a screen reader is told.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { open, start, top } from './browser.mjs';

const digits = join(top, 'examples/digits_cnn.pt2');

test('a browser that asks for Chinese gets it, and can change', async () => {
  const site = await start({ locale: 'zh-CN' });
  try {
    const { page } = site;
    assert.equal(await page.innerText('#start h1'), '把模型拖到这里');
    assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN');
    await page.selectOption('#language', 'en');
    assert.equal(await page.innerText('#start h1'), 'Drop a model here');
    await page.reload();
    assert.equal(await page.innerText('#start h1'), 'Drop a model here');
  } finally {
    await site.stop();
  }
});

test('a site that has the page in it says its language', async () => {
  const site = await start({ locale: 'en-GB' });
  try {
    const { page, address } = site;
    const heading = async () => {
      await page.waitForSelector('html[data-ready]');
      return page.innerText('#start h1');
    };
    await page.goto(`${address}index.html?lang=zh`);
    assert.equal(await heading(), '把模型拖到这里');
    await page.selectOption('#language', 'en');
    await page.reload();
    assert.equal(await heading(), 'Drop a model here');
    await page.goto(`${address}index.html?lang=zh`);
    assert.equal(await heading(), '把模型拖到这里');
    await page.goto(`${address}index.html?lang=xx`);
    assert.equal(await heading(), 'Drop a model here');
  } finally {
    await site.stop();
  }
});

test('nothing is wider than a phone', async () => {
  const site = await start({ viewport: { width: 360, height: 740 } });
  try {
    const { page } = site;
    const fits = async (what) => {
      const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= seen, `${what}: ${wide} > ${seen}`);
    };
    await fits('start');
    await open(page, digits);
    await page.click('#options summary');
    await fits('options');
    await page.click('#convert');
    await page.waitForSelector('#tab-run:not([hidden])');
    await fits('picture');
    await page.click('#tab-run');
    await page.click('#run form button.primary');
    await page.waitForSelector('#run .outputs section');
    await fits('run');
  } finally {
    await site.stop();
  }
});

test('by keyboard alone: the example, converted, and its picture', async () => {
  const site = await start();
  try {
    const { page } = site;
    const tabTo = async (selector) => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab');
        if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector))
          return;
      }
      assert.fail(`Tab does not reach ${selector}`);
    };
    await tabTo('#example');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.input-row');
    await tabTo('#convert');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#viewer[data-shown]');
    await tabTo('#tab-picture');
    await page.keyboard.press('ArrowRight');
    assert.ok(await page.isVisible('#run'));
    await page.keyboard.press('ArrowLeft');
    await tabTo('#viewer svg');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.innerText('#viewer h3'), 'Conv');
  } finally {
    await site.stop();
  }
});

test('everything that can be used has a name', async () => {
  const site = await start();
  try {
    const { page } = site;
    await open(page, digits);
    await page.click('#options summary');
    await page.click('#convert');
    await page.waitForSelector('#tab-run:not([hidden])');
    for (const tab of ['picture', 'run']) {
      await page.click(`#tab-${tab}`);
      const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input:not([type=hidden]), select, a, [role]')]
        .filter((e) => e.checkVisibility() && !e.textContent.trim() && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') && !e.labels?.length && !['status', 'listbox'].includes(e.getAttribute('role')))
        .map((e) => e.outerHTML.slice(0, 120)));
      assert.deepEqual(nameless, []);
    }
  } finally {
    await site.stop();
  }
});
