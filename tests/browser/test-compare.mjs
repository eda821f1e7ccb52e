/* A against B: filters, the compared profile, runs, what moved, links. */
import { assert, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

function requests(page, name) {
  const seen = [];
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.pathname.endsWith('/' + name))
      seen.push(url.searchParams);
  });
  return seen;
}

const NOW = Math.floor(Date.now() / 10000) * 10 - 60;
const RANGE = `&from=${NOW - 1200}&until=${NOW}`;

async function open(page, home, view, more = '') {
  await page.goto(home + 'dashboard.html?v=1&tab=cpu&view=' + view + RANGE +
    more);
  await loaded(page, 'profiles');
}

const last = (list) => list[list.length - 1];
const ticks = (page) => page.evaluate(() =>
  document.querySelector('.flame-facts').textContent);

function filters({ browser, base, files }) {
  return [
    ['focus and ignore are asked of the server and can be taken away', () =>
      withPage(browser, {}, async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await open(page, base, 'both');
        await page.click('.flame-toolbar .button:has-text("Filter")');
        await page.fill('[name=focus]', 'DBImpl::(Get|Write)');
        await page.fill('[name=ignore]', 'crc32c');
        await page.click('.filter-form .button-primary');
        await until(() => last(asked).get('ignore') === 'crc32c', 5000,
          'ignore');
        equal(last(asked).get('focus'), 'DBImpl::(Get|Write)', 'focus');
        await until(() => page.locator('.chip').count().then((n) => n === 2),
          3000, 'chips');
        assert(/focus=/.test(page.url()), 'not in the address');
        await page.click('.chip >> nth=0');
        await until(() => last(asked).get('focus') === null, 5000,
          'the chip did not take the focus away');
      })],
    ['modules and leaves are asked of the server', () => withPage(browser, {},
      async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await open(page, base, 'flame', '&collapse=module&reverse=1');
        await until(() => asked.length > 0, 5000, 'a request');
        equal(last(asked).get('collapse'), 'module', 'collapse');
        equal(last(asked).get('reverse'), '1', 'reverse');
      })],
    ['file: a snapshot is filtered by the page', () => withPage(browser,
      { home: files }, async (page) => {
        await page.goto(files + 'dashboard.html?v=1&tab=cpu&view=flame');
        await loaded(page, 'profiles');
        const all = await ticks(page);
        await page.goto(files + 'dashboard.html?v=1&tab=cpu&view=flame' +
          '&focus=leveldb');
        await loaded(page, 'profiles');
        const some = await ticks(page);
        assert(some !== all && !/no data/i.test(some), some);
      })]
  ];
}

function pairs({ browser, base, files }) {
  return [
    ['compare asks for the range shown and the one before', () => withPage(
      browser, {}, async (page) => {
        const asked = requests(page, 'diff.json');
        await open(page, base, 'compare');
        const q = last(asked);
        equal(Number(q.get('from-b')), NOW - 1200, 'B from');
        equal(Number(q.get('until-b')), NOW, 'B until');
        equal(Number(q.get('from')), NOW - 2400, 'A from');
        equal(Number(q.get('until')), NOW - 1200, 'A until');
        equal(q.get('normalise'), 'total', 'normalise');
        assert(/^Shares/.test(await page.textContent(
          '.flame-compare .compare-words')), 'the words');
        const rows = page.locator('.compare-table tbody tr');
        assert(await rows.count() > 10, 'rows');
        await page.click('[data-value="time"]');
        await until(() => last(asked).get('normalise') === 'time', 5000,
          'per second');
        await until(async () => /^Per second/.test(await page.textContent(
          '.flame-compare .compare-words')), 5000, 'its words');
      })],
    ['per request without a counter of requests says what it is', () =>
      withPage(browser, {}, async (page) => {
        await open(page, base, 'compare', '&normalise=requests');
        const words = await page.textContent('.compare-words');
        assert(/^Not per request: .* Per second/.test(words), words);
        equal(await page.getAttribute('[data-value="time"]', 'aria-pressed'),
          'true', 'Per second is pressed');
      })],
    ['swap exchanges A and B, and the address keeps them', () => withPage(
      browser, {}, async (page) => {
        const asked = requests(page, 'diff.json');
        await open(page, base, 'compare');
        await page.click('[aria-label="Swap A and B"]:visible');
        await until(() => Number(last(asked).get('from')) === NOW - 1200,
          5000, 'A is what B was');
        equal(Number(last(asked).get('from-b')), NOW - 2400, 'B from');
        assert(page.url().includes('afrom=' + (NOW - 1200)), page.url());
      })],
    ['leaving the comparison asks for the profile again', () => withPage(
      browser, {}, async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await open(page, base, 'compare');
        equal(asked.length, 0, 'profiles asked for');
        await page.click('.flame-toolbar [data-value="both"]');
        await until(() => asked.length > 0, 5000, 'no profile');
        await until(() => page.locator('.fn-table:not(.compare-table) ' +
          'tbody tr').count().then((n) => n > 5), 5000, 'no table');
      })],
    ['the compared table sorts, searches and marks few samples', () =>
      withPage(browser, {}, async (page) => {
        await page.route('**/api/v1/diff.json*', async (route) => {
          const res = await route.fetch();
          const body = await res.json();
          body.rows[0].few = true;
          await route.fulfill({ response: res, json: body });
        });
        await open(page, base, 'compare');
        const rows = page.locator('.compare-table tbody tr');
        const all = await rows.count();
        assert(await page.locator('.compare-table .few').count() > 0,
          'the mark');
        await page.click('.compare-table .sort-button:has-text("Function")');
        await page.waitForSelector('.compare-table[aria-busy=false] ' +
          '[aria-sort=ascending]');
        const names = await page.$$eval('.compare-table .fn-text', (list) =>
          list.map((n) => n.textContent));
        assert(names.every((n, i) => i === 0 || names[i - 1] <= n),
          'not sorted');
        await page.fill('#flame-search', names[0]);
        await until(async () => await rows.count() < all &&
          /% matched/.test(await page.textContent('.matched')), 3000,
        'search');
      })],
    ['a side without data is said, and nothing is claimed', () => withPage(
      browser, {}, async (page) => {
        await page.route('**/api/v1/diff.json*', async (route) => {
          const res = await route.fetch();
          const body = await res.json();
          Object.assign(body.a, { total: 0, divided_by: null,
            state: 'no data', slots: 0 });
          for (const r of body.rows)
            Object.assign(r, { self_difference: null,
              total_difference: null, self_normalised: [null, 0.1] });
          await route.fulfill({ response: res, json: body });
        });
        await open(page, base, 'compare');
        assert(/^In A: No data/.test(await page.textContent(
          '.flame-compare .compare-words')), 'A is not said');
        assert(/no data/.test(await page.textContent(
          '.compare-table tbody tr')), 'the row claims something');
      })],
    ['file: two halves of a snapshot are compared', () => withPage(browser,
      { home: files }, async (page) => {
        await page.goto(files + 'dashboard.html?v=1&tab=cpu&view=compare');
        await loaded(page, 'profiles');
        assert(await page.locator('.compare-table tbody tr').count() > 10,
          'rows');
        assert(/^Shares/.test(await page.textContent(
          '.flame-compare .compare-words')), 'the words');
      })]
  ];
}

function runs({ browser, base, files, mock }) {
  return [
    ['a range is named, used as A, and taken away', () => withPage(browser,
      {}, async (page) => {
        if (!mock)
          return; /* it would stay in somebody's store */
        const asked = requests(page, 'compare.json');
        await page.goto(base + 'dashboard.html?v=1&tab=runs' + RANGE);
        await loaded(page, 'runs');
        await page.click('text=Name this range');
        await page.fill('.run-form [name=name]', 'baseline <1>');
        await page.fill('.run-form [name=rate_reached]', '998.5');
        await page.click('.run-form .button-primary');
        const line = page.locator('.runs-table tbody tr');
        await until(() => line.count().then((n) => n === 1), 5000, 'listed');
        assert(/baseline <1>/.test(await line.textContent()), 'its name');
        await line.locator('.segment:has-text("A")').click();
        await until(() => Number(last(asked).get('from')) === NOW - 1200,
          5000, 'A');
        page.on('dialog', (d) => d.accept());
        await page.click('[aria-label="Remove run baseline <1>"]');
        await until(() => line.count().then((n) => n === 0), 5000, 'removed');
      })],
    ['a failure is not told as an empty list', () => withPage(browser,
      { allowed: /503/ }, async (page) => {
        await page.route(/\/api\/v1\/(runs|compare\.json)/, (route) =>
          route.fulfill({ status: 503, json: { error: 'not yet' } }));
        await page.goto(base + 'dashboard.html?v=1&tab=runs' + RANGE);
        await loaded(page, 'runs');
        const text = await page.textContent('#panel-runs');
        assert(!/No run has a name|No metric has data/.test(text), text);
        equal(text.match(/not yet/g).length, 2, 'both say why');
      })],
    ['what moved: better, worse, no data apart from 0', () => withPage(
      browser, {}, async (page) => {
        if (!mock)
          return; /* other figures there */
        await page.goto(base + 'dashboard.html?v=1&tab=runs&' +
          'service=kv_service' + RANGE);
        await loaded(page, 'runs');
        const rows = page.locator('.metrics-table tbody tr');
        equal(await rows.count(), 5, 'rows');
        assert(/leveldb_cache_hit_ratio/.test(await rows.first()
          .textContent()), 'the service is not first');
        const text = await page.textContent('.metrics-table');
        assert(/no data/.test(text) && /from 0/.test(text), text);
        await page.click('.metrics-card [data-value="worse"]');
        await until(() => rows.count().then((n) => n === 1), 3000, 'worse');
        assert(/▼ worse/.test(await rows.textContent()), 'the verdict');
      })],
    ['file: metrics of a snapshot are compared', () => withPage(browser,
      { home: files }, async (page) => {
        await page.goto(files + 'dashboard.html?v=1&tab=runs');
        await loaded(page, 'runs');
        assert(await page.locator('.metrics-table tbody tr').count() > 5,
          'rows');
        assert(await page.locator('text=Name this range').isDisabled(),
          'naming needs a server');
      })]
  ];
}

function taking({ browser, base }) {
  return [
    ['a link fixes the range and keeps the view', () => withPage(browser,
      { permissions: ['clipboard-read', 'clipboard-write'] },
      async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&view=table' +
          '&from=now-15m&search=leveldb');
        await loaded(page, 'profiles');
        await page.click('[aria-label="Copy a link to this view"]');
        const link = new URL(await page.evaluate(() =>
          navigator.clipboard.readText()));
        assert(/^\d+$/.test(link.searchParams.get('from')), link.href);
        assert(/^\d+$/.test(link.searchParams.get('until')), link.href);
        equal(link.searchParams.get('search'), 'leveldb', 'search');
        equal(link.searchParams.get('view'), 'table', 'view');
      })],
    ['every export is a link with the right range and filter', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, 'both', '&focus=leveldb');
        await page.click('.flame-toolbar .button:has-text("Export")');
        await page.waitForSelector('a.menu-item');
        const links = await page.$$eval('a.menu-item', (list) =>
          list.map((a) => a.getAttribute('href')));
        for (const name of ['flamegraph.svg', 'flamegraph.png',
          'flamegraph.html', 'flamegraph.pprof', 'flamegraph.folded',
          'flamegraph.speedscope.json', 'flamegraph.json', 'table.csv']) {
          const href = links.find((l) => l.startsWith('api/v1/' + name + '?'));
          assert(href, name + ' is missing');
          const q = new URLSearchParams(href.split('?')[1]);
          equal(q.get('from'), String(NOW - 1200), 'from of ' + name);
          equal(q.get('focus'), name.endsWith('pprof') ? null : 'leveldb',
            'focus of ' + name);
        }
      })],
    ['sandwich shows the function over time', () => withPage(browser, {},
      async (page) => {
        const asked = requests(page, 'table.json');
        await open(page, base, 'sandwich');
        await page.locator('.fn-table .fn-name').nth(1).click();
        await until(() => asked.length > 0, 5000, 'not asked');
        await until(async () => /max|from|to/.test(await page.getAttribute(
          '.fn-time .chart', 'aria-label')), 5000, 'no line');
      })]
  ];
}

export function compareTests(env) {
  return [...filters(env), ...pairs(env), ...runs(env), ...taking(env)];
}
