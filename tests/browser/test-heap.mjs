/* The tab Memory: kinds of memory, leak suspects, the base of a difference. */
import { assert, audit, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

const END = Math.floor(Date.now() / 10000) * 10;
const ADDRESS = 'dashboard.html?v=1&tab=heap&from=' + (END - 1800) +
  '&until=' + END + '&service=';

async function open(page, base, service = 'kv_service', more = '') {
  await page.goto(base + ADDRESS + service + more);
  await loaded(page, 'heap');
}

function asked(page, name) {
  const seen = [];
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.pathname.endsWith('/' + name))
      seen.push(url.searchParams);
  });
  return seen;
}

const query = (page) => new URL(page.url()).searchParams;
const PANEL = '#panel-heap ';

/* Bytes of legends' values, all of one moment. */
async function legends(page, labels) {
  const texts = await page.evaluate(([panel, wanted]) => wanted.map((label) =>
    [...document.querySelectorAll(panel + '.legend-item')].filter((item) =>
      item.querySelector('.legend-label').textContent === label).map((item) =>
      item.querySelector('.legend-value').textContent)[0]), [PANEL, labels]);
  return texts.map((text) => {
    const [, n, unit] = /^([\d.]+) (\S+)$/.exec(text) || [null, NaN, ''];
    return Number(n) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
  });
}

export function heapTests({ browser, base, mock }) {
  if (!mock)
    return [];
  return [
    ['memory: kinds, live and fragmentation', () => withPage(browser, {},
      async (page) => {
        await open(page, base);
        const kinds = ['anonymous', 'file', 'shared', 'swap', 'PSS'];
        for (const [k, bytes] of (await legends(page, kinds)).entries())
          assert(bytes > 0, 'no ' + kinds[k]);
        const [live, held, rest] = await legends(page, ['live (in use)',
          'resident, anonymous', 'fragmentation']);
        assert(/PSS: .* was read at \d{4}-\d\d-\d\d /.test(await
        page.textContent(PANEL + '.profile-lines')), 'no age of PSS');
        assert(Math.abs(live / 1024 ** 2 - 119) < 2, 'live ' + live);
        assert(Math.abs(held - live - rest) < 2 * 1024 ** 2,
          `${held} resident minus ${live} live is not ${rest}`);
      })],
    ['memory: what is in use first, types of memory alone', () => withPage(
      browser, {}, async (page) => {
        const flames = asked(page, 'flamegraph.json');
        await open(page, base);
        equal(flames[0].get('query'), 'inuse_space{service="kv_service"}',
          'asked');
        equal((await page.locator(PANEL + 'select[aria-label="Profile"] ' +
          'option').allTextContents()).join(), 'Memory in use,Memory allocated',
        'types');
        /* CPU time is chosen elsewhere, and is no memory */
        await open(page, base, 'kv_service', '&type=cpu');
        equal(flames.at(-1).get('query'),
          'inuse_space{service="kv_service"}', 'asked');
      })],
    ['memory: a suspect leads to the difference that shows it', () =>
      withPage(browser, {}, async (page) => {
        const diffs = asked(page, 'diff.json');
        await open(page, base);
        const words = await page.textContent(PANEL + '.leak-words');
        assert(/grows by 1 MiB\/min .* cgroup \(512 MiB left\) ends in 8 h 32 min/
          .test(words) && /1 stack has grown and stopped/.test(words), words);
        equal(await page.locator('.leak-table tbody tr').count(), 1,
          'suspects');
        assert(await page.getAttribute('.leak-spark path', 'd'),
          'no sparkline');
        await page.click('.leak-table .button');
        await until(() => diffs.length > 0, 5000, 'no difference');
        const [q] = diffs;
        equal([q.get('query'), q.get('normalise')].join(),
          'inuse_space{service="kv_service"},time', 'asked');
        equal([q.get('from') - END, q.get('until') - END,
          q.get('from-b') - END, q.get('until-b') - END].join(),
        '-1800,-1620,-180,0', 'beginning and end');
        equal(query(page).get('search'), 'leveldb::Arena::AllocateFallback',
          'marked');
        await loaded(page, 'heap');
        equal(await page.locator('.leak-table tbody tr').count(), 1,
          'suspects while comparing');
        assert(/Averages/.test(await page.textContent(PANEL +
          '.compare-words')), 'amounts as they are');
        equal(await page.textContent(PANEL + '.segment[data-value="time"]'),
          'Amounts', 'how it is called');
      })],
    ['memory: what does not outlive its slot, by pool and stack', () =>
      withPage(browser, {}, async (page) => {
        await open(page, base);
        assert(/91\.7 % of it did not outlive its slot, 100 MiB did/.test(
          await page.textContent('.life-words')), 'words');
        const rows = await page.locator('.life-table tbody tr')
          .allTextContents();
        equal(rows.length, 3, 'rows');
        assert(/^kv-http-\*900 MiB98\.9 %10 MiB900,000$/.test(rows[0]),
          rows[0]);
        assert(/^kv::Worker::Run\(\)kv-http-\*: → std::string/.test(
          rows[2]), rows[2]);
        await open(page, base, 'postgres');
        equal(await page.isVisible('.life-words'), false,
          'said where nobody knows');
      })],
    ['memory: without a heap profile the line that starts one', () =>
      withPage(browser, {}, async (page) => {
        await open(page, base, 'postgres');
        const text = await page.textContent('.start-hint');
        assert(/none of this service in this range.*Its allocator is glibc\./.test(text), text);
        equal(await page.textContent('.start-line code'), 'memlens run -- ' +
          '/usr/lib/postgresql/15/bin/postgres', 'line');
        assert(/no heap profile: only what is resident/.test(
          await page.textContent(PANEL + '.leak-words')), 'not labelled');
        assert(/Stacks are not known/.test(await page.textContent(
          '.leak-empty')), 'suspects');
        await open(page, base);
        equal(await page.isVisible('.start-hint'), false,
          'said where there is one');
      })],
    ['memory: the whole host has kinds, and no suspects', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, '*');
        assert((await legends(page, ['file']))[0] > 4 * 1024 ** 3, 'file');
        assert(/choose one/.test(await page.textContent('.leak-empty')),
          'leaks');
      })],
    ...['light', 'dark'].map((colorScheme) => [
      `memory: axe finds nothing, narrow, ${colorScheme}`, () => withPage(
        browser, { colorScheme, viewport: { width: 400, height: 800 } },
        async (page) => {
          for (const service of ['kv_service', 'postgres']) {
            await open(page, base, service);
            equal(await page.evaluate(() => document.documentElement
              .scrollWidth > innerWidth), false, 'scrolls sideways');
            equal((await audit(page)).join('\n'), '', 'axe');
          }
        })])
  ];
}
