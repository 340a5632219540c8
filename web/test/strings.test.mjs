// strings.test.mjs - every word in every language, and no text that nobody shows.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { addRows, allRows, LANGUAGES, setLanguage, t } from '../src/strings.js';
import { rows } from '../viewer/strings.js';

addRows(rows);

const sources = ['src', 'viewer'].flatMap((folder) => readdirSync(new URL(`../${folder}`, import.meta.url))
  .filter((name) => /\.(js|html)$/.test(name) && name !== 'strings.js').map((name) => readFileSync(new URL(`../${folder}/${name}`, import.meta.url), 'utf8'))).join('\n');

test('each row has a text in each language', () => {
  for (const [key, row] of Object.entries(allRows()))
    assert.ok(row.length === Object.keys(LANGUAGES).length && row.every(Boolean), key);
});

test('each key that the page asks for is there', () => {
  const asked = [...sources.matchAll(/\bt\('([^']+)'|data-t(?:-label)?="([^"]+)"/g)].map((m) => m[1] ?? m[2]);
  assert.ok(asked.length > 30);
  for (const key of asked)
    assert.ok(key in allRows(), key);
});

test('each key is asked for', () => {
  for (const key of Object.keys(allRows()))
    assert.ok(sources.includes(`'${key}'`) || sources.includes(`"${key}"`) || sources.includes(`\`${key.split('.')[0]}.$`), key);
});

test('what is put in stands in the text', () => {
  setLanguage('zh');
  assert.match(t('save', 'net.onnx'), /net\.onnx/);
  setLanguage('en');
});
