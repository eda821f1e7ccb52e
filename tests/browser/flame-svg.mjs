/*
 * A flame graph as a file, opened alone:
 *
 *   node flame-svg.mjs PICTURE.svg DIFFERENCE.svg LARGE.svg HUGE.svg
 *
 * It is zoomed, searched, walked by keys, and reopened at its address.
 */
import { readFileSync } from 'node:fs';
import { assert, launch, report, withPage } from './harness.mjs';

const [picture, difference, large, huge] = process.argv.slice(2)
  .map((f) => 'file://' + f);
const browser = await launch();

/* Anew: another '#' alone would not load the file again. */
async function open(page, url) {
  await page.goto('about:blank');
  await page.goto(url);
}
/* Names of the frames that are shown, in the order of the document. */
const shown = (page) => page.evaluate(() =>
  [...(document.getElementById('zoomed') ||
    document.getElementById('frames')).children]
    .map((g) => g.firstChild.textContent.replace(/ \([^(]*\)$/, '')));
const text = (page, id) => page.evaluate((i) =>
  document.getElementById(i).textContent, id);
const focused = (page) => page.evaluate(() => document.activeElement &&
  document.activeElement.firstChild.textContent);
const hash = (page) => page.evaluate(() => location.hash);
const same = (got, want) => assert(JSON.stringify(got) ===
  JSON.stringify(want), `${JSON.stringify(got)} is ${JSON.stringify(want)}`);
const click = (page, name) => page.evaluate((n) =>
  [...document.querySelectorAll('#frames > g')].find((g) =>
    g.firstChild.textContent.startsWith(n + ' ('))
    .dispatchEvent(new MouseEvent('click', { bubbles: true })), name);

const tests = [
  ['a click zooms, the address keeps it, Escape goes back', () =>
    withPage(browser, {}, async (page) => {
      await open(page, picture);
      same(await shown(page), ['total', 'main', 'read', 'copy', 'write']);
      await click(page, 'read');
      same(await shown(page), ['total', 'main', 'read', 'copy']);
      const at = await hash(page);
      await open(page, picture + at);
      same(await shown(page), ['total', 'main', 'read', 'copy']);
      const box = await page.evaluate(() => document.getElementById('zoomed')
        .children[3].children[1].getAttribute('width'));
      same(box, '75%');
      await page.keyboard.press('Escape');
      same((await shown(page)).length, 5);
      same(await hash(page), '');
    })],
  ['a search tells the share of what matches, each sample once', () =>
    withPage(browser, {}, async (page) => {
      await open(page, picture);
      await page.keyboard.press('/');
      await page.keyboard.type('READ|copy');
      await page.keyboard.press('Enter');
      same(await text(page, 'matched'), 'Matched: 40.00% in 2 frames');
      await open(page, picture + await hash(page));
      same(await text(page, 'matched'), 'Matched: 40.00% in 2 frames');
      await page.evaluate(() => document.getElementById('case')
        .dispatchEvent(new MouseEvent('click')));
      same(await text(page, 'matched'), 'Matched: 30.00% in 1 frame');
      await page.keyboard.press('Escape');
      same(await text(page, 'matched'), '');
      await page.keyboard.press('/');
      await page.keyboard.type('(');
      assert(/regular expression/i.test(await text(page, 'matched')),
        'what is no expression is said');
    })],
  ['arrows walk, Enter zooms, one frame is reached by Tab', () =>
    withPage(browser, {}, async (page) => {
      await open(page, picture);
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      assert(/^total /.test(await focused(page)), 'Tab reaches the root');
      for (const [key, name] of [['ArrowDown', 'main'],
        ['ArrowDown', 'write'], ['ArrowLeft', 'read'],
        ['ArrowDown', 'copy'], ['ArrowUp', 'read']]) {
        await page.keyboard.press(key);
        assert((await focused(page)).startsWith(name + ' ('),
          `${key} goes to ${name}`);
      }
      assert(/^read /.test(await text(page, 'details')), 'it is told');
      await page.keyboard.press('Enter');
      same(await shown(page), ['total', 'main', 'read', 'copy']);
      same(await page.evaluate(() => document.querySelectorAll(
        'g[tabindex="0"]').length), 1);
    })],
  ['it follows the width of the window', () =>
    withPage(browser, {}, async (page) => {
      await page.setViewportSize({ width: 500, height: 400 });
      await open(page, picture);
      const width = () => page.evaluate(() => document.getElementById(
        'frames').getBoundingClientRect().width);
      const narrow = await width();
      assert(narrow <= 500, 'narrow');
      await page.setViewportSize({ width: 1500, height: 400 });
      await page.waitForFunction((w) => document.getElementById('frames')
        .getBoundingClientRect().width > w + 500, narrow);
    })],
  ['a difference is searched and zoomed as well', () =>
    withPage(browser, {}, async (page) => {
      await open(page, difference);
      await click(page, 'read');
      assert((await shown(page)).includes('copy'), 'zoomed');
      assert(!(await shown(page)).includes('write'), 'and nothing else');
    })],
  ['nothing runs over the edge of a narrow window', () =>
    withPage(browser, {}, async (page) => {
      await page.setViewportSize({ width: 400, height: 400 });
      await open(page, difference);
      const right = () => page.evaluate(() => Math.max(
        ...[...document.querySelectorAll('#title, #subtitle, #how, ' +
          '#legend text')].map((t) => t.getBoundingClientRect().right)));
      assert(await right() <= 400, 'ends at ' + await right());
      assert(/\u2026$/.test(await text(page, 'title')),
        'cut with a sign of it: ' + await text(page, 'title'));
      await page.setViewportSize({ width: 1500, height: 400 });
      await page.waitForFunction(() => document.getElementById('title')
        .textContent.endsWith(' end'));
    })],
  ['a large one is left alone until it is used', () =>
    withPage(browser, {}, async (page) => {
      await open(page, large);
      const touched = () => page.evaluate(() => document.querySelectorAll(
        '#frames > g[role], #frames > g[style]').length);
      same(await touched(), 1);
      await click(page, 'f77');
      same(await shown(page), ['total', 'main', 'f77', 'leaf']);
      await page.keyboard.press('ArrowDown');
      assert((await focused(page)).startsWith('leaf ('), 'it is walked');
      await page.keyboard.press('Escape');
      same(await page.evaluate(() => document.getElementById('zoomed')),
        null);
      await page.keyboard.press('/');
      await page.keyboard.type('^f77$');
      await page.keyboard.press('Enter');
      assert(/ in 1 frame$/.test(await text(page, 'matched')), 'searched');
      assert(await touched() < 10, 'and hardly touched');
    })],
  ['what is too narrow to see waits for a zoom, as grey bars', () =>
    withPage(browser, {}, async (page) => {
      await open(page, huge);
      const displayed = (name) => page.evaluate((n) => getComputedStyle(
        [...document.querySelectorAll('#zoomed > g, #frames > g')].find(
          (g) => g.firstChild.textContent.startsWith(n + ' ('))).display,
      name);
      same(await displayed('wide'), 'inline');
      same(await displayed('f77'), 'none');
      const bars = () => page.evaluate(() => [...document.querySelectorAll(
        '#rests rect')].map((r) => parseFloat(r.getAttribute('width'))));
      const widths = await bars();
      same(widths.length, 2);
      assert(widths.every((w) => Math.abs(w - 50) < 0.1),
        'half of two levels is grey: ' + widths);
      assert(/^22,000 frames are too narrow/.test(await text(page,
        'details')), 'and said');
      await click(page, 'f77');
      same(await shown(page), ['total', 'main', 'f77', 'leaf']);
      same(await displayed('f77'), 'inline');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      assert(/^total /.test(await focused(page)), 'Tab reaches the root');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      assert((await focused(page)).startsWith('wide ('),
        'arrows walk what is seen');
      await page.keyboard.press('/');
      await page.keyboard.type('^f77$');
      await page.keyboard.press('Enter');
      assert(/ in 1 frame$/.test(await text(page, 'matched')), 'searched');
      same(await displayed('f77'), 'inline');
    })],
  ['without a script it is a picture with a title for each frame', () => {
    const svg = readFileSync(picture.slice(7), 'utf8');
    assert(/<title>read \(4 samples, 40\.00%\)<\/title>/.test(svg), 'read');
    assert(!/https?:\/\/(?!www\.w3\.org\/(2000\/svg|1999\/xhtml))/.test(svg),
      'nothing is loaded');
  }],
];

const failed = await report(tests);
await browser.close();
process.exitCode = failed ? 1 : 0;
