/* The heat map of latencies in the tab Profiles. */
import { assert, audit, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

const END = Math.floor(Date.now() / 10000) * 10;
const ADDRESS = 'dashboard.html?v=1&tab=profiles&service=kv_service&from=' +
  (END - 1800) + '&until=' + END;

function asked(page, name) {
  const seen = [];
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (url.pathname.endsWith('/' + name))
      seen.push(url.searchParams);
  });
  return seen;
}

async function open(page, base, more = '') {
  await page.goto(base + ADDRESS + more);
  await loaded(page, 'profiles');
}

const line = (page) => page.textContent('.heat-line');
const query = (page) => new URL(page.url()).searchParams;

async function drag(page, from, to) {
  await page.locator('.heat-canvas').scrollIntoViewIfNeeded();
  const box = await page.locator('.heat-canvas').boundingBox();
  const at = ([x, y]) => [box.x + 62 + (box.width - 62) * x,
    box.y + 4 + 216 * y];
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 5 });
  await page.mouse.up();
}

export function heatTests({ browser, base, mock }) {
  if (!mock)
    return [];
  return [
    ['heat map: percentiles of the range, and numbers as a table', () =>
      withPage(browser, {}, async (page) => {
        const maps = asked(page, 'heatmap.json');
        await open(page, base);
        assert(/p50 .* p99\.9 .* max .* 100 requests/.test(await line(page)),
          await line(page));
        assert(/ · of the whole host, not measured: [1-9]/.test(
          await line(page)), 'what is lost is not said: ' + await line(page));
        assert(maps.every((q) => q.get('query') === 'disk_device_seconds{' +
          'operation="read",service="kv_service"}'), maps[0].get('query'));
        assert(maps.some((q) => q.get('step') === '1800'),
          'the percentiles are not of the whole range');
        await page.click('.heat-details summary');
        await page.waitForSelector('.heat-numbers tbody tr');
        const rows = await page.locator('.heat-numbers tbody tr').count();
        equal(rows, 180, 'rows');
        assert(/100$/.test(await page.textContent(
          '.heat-numbers tbody tr >> nth=3')), 'the count');
      })],
    ['heat map: a drag takes time and band, and shows waits for disks', () =>
      withPage(browser, {}, async (page) => {
        const flames = asked(page, 'flamegraph.json');
        await open(page, base);
        await drag(page, [0.25, 0.1], [0.5, 0.6]);
        await until(() => query(page).get('band'), 5000, 'no band');
        const q = query(page);
        equal([q.get('type'), q.get('reason')].join(), 'offcpu,disk', 'type');
        const span = q.get('until') - q.get('from');
        assert(Math.abs(span - 450) <= 20, 'range ' + span);
        equal(q.get('from') % 10, 0, 'whole slots');
        await until(() => flames.some((f) => f.get('query') ===
          'offcpu{reason="disk",service="kv_service"}' ||
          f.get('query') === 'offcpu{service="kv_service",reason="disk"}'),
        5000, 'asked ' + flames.map((f) => f.get('query')).join(' '));
        await loaded(page, 'profiles');
        const note = await page.textContent('.heat-note');
        assert(/\d of [\d,]+ requests.*all waits of this kind.*reason disk.*not kept by latency/
          .test(note), note);
        await page.click('.heat-card .button:has-text("All waits")');
        await until(() => !query(page).get('band'), 5000, 'still a band');
      })],
    ['heat map: keys walk, select and take', () => withPage(browser, {},
      async (page) => {
        await open(page, base);
        await page.focus('.heat-canvas');
        await page.keyboard.press('ArrowLeft');
        const spoken = () => page.textContent('.heat [role=status]');
        const first = await spoken();
        assert(/to .*: [\d,]+ of 100/.test(first), first);
        await page.keyboard.press('Shift+ArrowLeft');
        await page.keyboard.press('Shift+ArrowUp');
        assert(/^selected from/.test(await spoken()), await spoken());
        await page.keyboard.press('Enter');
        await until(() => query(page).get('band'), 5000, 'no band');
        equal(query(page).get('until') - query(page).get('from'), 20,
          'two steps');
      })],
    ['heat map: nothing measured is not nothing there', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, '&heat=compaction');
        assert(/^0 stalls/.test(await line(page)), await line(page));
        await page.route('**/api/v1/series?*memlens_histograms_attached*',
          (route) => route.fulfill({ json: { series: [], state: 'no data' } }));
        await page.reload();
        await loaded(page, 'profiles');
        assert(/^No data: .*\[disk\]/.test(await line(page)),
          await line(page));
        equal(await page.isVisible('.heat-canvas'), false, 'the map');
      })],
    ['heat map: what is enabled is not advised to be', () => withPage(
      browser, {}, async (page) => {
        await page.route('**/api/v1/series?*memlens_histograms_attached*',
          (route) => route.fulfill({ json: { series: [], state: 'no data' } }));
        await page.route('**/api/v1/threads?*', (route) =>
          route.fulfill({ json: { pools: [], counts: [] } }));
        await page.route('**/api/v1/health*', async (route) => {
          const json = await (await route.fetch()).json();
          for (const name of ['disk', 'reclaim', 'offcpu'])
            json.sources = [...json.sources.filter((s) => s.name !== name),
              { name, state: 'attached', why: '', last: json.now, lost: {} }];
          await route.fulfill({ json });
        });
        await open(page, base, '&heat=compaction');
        equal(await line(page), 'No data: the source “reclaim” was not ' +
          'attached in this range. Now it is attached.', 'the map');
        const states = page.locator('p.hint:has-text("Thread states")');
        assert(/attached now; threads of the kernel/.test(
          await states.textContent()), await states.textContent());
      })],
    ['heat map: a service that is not there has no data', () => withPage(
      browser, {}, async (page) => {
        await page.goto(base + ADDRESS.replace('kv_service', 'nosuch') +
          '&heat=compaction');
        await until(async () => await line(page) ===
          'No data of “nosuch” in this range.', 5000, 'another line');
      })],
    ['heat map: a band without its profile is not told', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, '&band=0.0001~0.0002&type=cpu');
        const note = await page.textContent('.heat-note');
        assert(/not shown: the profile below is not of waits/.test(note), note);
      })],
    ...['light', 'dark'].map((colorScheme) => [
      `heat map: axe finds nothing, narrow, ${colorScheme}`, () => withPage(
        browser, { colorScheme, viewport: { width: 400, height: 800 } },
        async (page) => {
          await open(page, base);
          equal(await page.evaluate(() => document.documentElement
            .scrollWidth > innerWidth), false, 'scrolls sideways');
          await page.click('.heat-details summary');
          equal((await audit(page)).join('\n'), '', 'axe');
        })])
  ];
}
