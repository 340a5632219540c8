// words.test.mjs - the page in Chinese, on a phone, by keyboard, dark, and what a screen reader is told.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { inBrowsers, open, top } from './browser.mjs';

const digits = join(top, 'examples/digits_cnn.pt2');

/** Visible texts whose contrast to what is behind them is under 4.5 to 1 (WCAG AA), in the page's own colours. */
const pale = () => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length === 3)
        return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll('body *')]
    .filter((e) => e.checkVisibility() && !e.closest('svg') && !e.disabled && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
    .map((e) => [e, ...[numbers(getComputedStyle(e).color), behind(e)].map(light).sort((a, b) => b - a)])
    .filter(([, more, less]) => (more + 0.05) / (less + 0.05) < 4.5)
    .map(([e, more, less]) => `${((more + 0.05) / (less + 0.05)).toFixed(2)}: ${e.outerHTML.slice(0, 100)}`);
};

inBrowsers((start) => {
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

  test('dark where the system is dark; every text can be read in both themes', async () => {
    const site = await start({ colorScheme: 'dark' });
    try {
      const { page } = site;
      const theme = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).backgroundColor]);
      const [name, ground] = await theme();
      assert.equal(name, 'dark');
      await open(page, digits);
      await page.click('#options summary');
      await page.click('#convert');
      await page.waitForSelector('#viewer[data-shown]');
      assert.deepEqual(await page.evaluate(pale), []);
      await page.click('#theme');
      assert.deepEqual([(await theme())[0], (await theme())[1] !== ground], ['light', true]);
      assert.deepEqual(await page.evaluate(pale), []);
      await page.reload();
      await page.waitForSelector('html[data-ready]');
      assert.equal((await theme())[0], 'light');             // what was chosen stays
    } finally {
      await site.stop();
    }
  });
});
