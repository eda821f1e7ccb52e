/* Live and Offline, and the truth about the data's health. */
import { assert, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

const REFRESH = 6500;
const NET = /Failed to load resource|ERR_/;
const modeIs = (page, mode, ms = REFRESH) => until(() =>
  page.evaluate((m) => document.body.dataset.mode === m, mode), ms,
'mode ' + mode);
const pill = (page) => page.getAttribute('#health', 'title');

/* Answers of health changed by f before the page sees them; what the page
 * says when it asks again is added to the list. */
async function changeHealth(page, f) {
  const said = [];
  await page.route('**/api/v1/health', async (route) => {
    said.push(await pill(page));
    const res = await route.fetch();
    const body = await res.json();
    f(body);
    await route.fulfill({ response: res, json: body });
  });
  return said;
}

function health({ browser, base }) {
  const says = (name, f, want) => [name, () => withPage(browser, {},
    async (page) => {
      await page.goto(base + 'dashboard.html');
      await modeIs(page, 'live');
      const said = await changeHealth(page, f);
      await until(async () => want.test(await pill(page)), REFRESH,
        'the header says so, not ' + await pill(page));
      assert(said.slice(1).every((text) => want.test(text)),
        'one refresh later: ' + said[1]);
    })];
  return [
    says('health: a dead collector is said within one refresh',
      (b) => { b.store.until = Math.floor(Date.now() / 1000) - 400; },
      /Down.*written nothing for 6 min/),
    says('health: degraded is said with its reason',
      (b) => { b.status = 'degraded'; b.reason = 'perf: not attached'; },
      /Degraded.*perf: not attached/),
    says('health: down is said', (b) => { b.status = 'down'; }, /Down/),
    ['health: sources and losses are in the popover', () => withPage(browser,
      {}, async (page) => {
        await page.goto(base + 'dashboard.html');
        await modeIs(page, 'live');
        await changeHealth(page, (b) => { b.sources = [{ name: 'cpu',
          state: 'running', last: b.store.until, samples: 5,
          lost: { ring_full: 1234 }, broken: { no_tables: 2 } }]; });
        await until(async () => /lost/.test(await page.textContent(
          '#health')), REFRESH, 'losses in the pill');
        await page.click('#health');
        await page.waitForSelector('.health-pop td:has-text("1,234 ring")');
        await page.waitForSelector(
          '.health-pop td:has-text("40 %: 2 no tables")');
      })]
  ];
}

function offline({ browser, base, files }) {
  return [
    ['offline: a server without an API shows the demo, marked', () =>
      withPage(browser, { allowed: NET }, async (page) => {
        await page.route('**/api/v1/**', (route) => route.fulfill({
          status: 404, contentType: 'text/html', body: '<h1>None</h1>' }));
        await page.goto(base + 'dashboard.html');
        await modeIs(page, 'offline');
        await loaded(page, 'memory');
        assert(/demo.*snapshot of \d{4}-\d\d-\d\d.*no MemLens API/.test(
          await page.textContent('#banner')), 'the banner does not say so');
      })],
    ['offline: the whole host is missed where its profile would be', () =>
      withPage(browser, {}, async (page) => {
        await page.route('**/snapshots/snapshot.js', async (route) => {
          const body = await (await route.fetch()).text();
          await route.fulfill({ contentType: 'text/javascript', body: body +
            ';delete window.MemLens.snapshot.profiles.of.cpu;' });
        });
        const missed = () => page.isVisible('.service-note');
        await page.goto(base + 'dashboard.html?v=1&mode=offline&tab=memory' +
          '&service=*');
        await modeIs(page, 'offline');
        await loaded(page, 'memory');
        equal(await missed(), false, 'beside the metrics of the host');
        await page.click('#tab-profiles');
        await until(missed, 5000, 'beside the flame graph');
        assert(/The profile of the whole host is not in/.test(
          await page.textContent('.service-note')), 'what is missed');
        await page.click('#tab-memory');
        await until(async () => !await missed(), 5000, 'the way back');
      })],
    ['offline: one late answer is not taken for a dead server', () =>
      withPage(browser, { allowed: NET, hurried: true }, async (page) => {
        let asked = 0;
        await page.route('**/api/v1/health', async (route) => {
          if (asked++ === 0)
            await new Promise((r) => setTimeout(r, 7000));
          await route.continue().catch(() => undefined);
        });
        await page.goto(base + 'dashboard.html');
        await until(async () => {
          const mode = await page.evaluate(() => document.body.dataset.mode);
          /* A machine that is busy may let others be late as well. */
          assert(mode !== 'offline' || asked > 1, 'went Offline');
          return mode === 'live';
        }, 12000, 'Live');
      })],
    ['while it loads a page claims no value, no time and no emptiness', () =>
      withPage(browser, {}, async (page) => {
        const held = [];
        await page.route(/\/api\/v1\/(services|series|runs|compare)/, (r) =>
          held.push(r));
        await page.goto(base + 'dashboard.html?v=1&tab=memory');
        await until(() => held.length > 0, 12000, 'a request');
        assert(await page.$eval('.meter-fill', (n) => n.clientWidth) === 0,
          'a full meter');
        equal(await page.locator('#panel-memory .uplot').count(), 0,
          'axes of no range');
        assert(/Loading/.test(await page.textContent('#panel-memory')),
          'it is not said');
        await page.keyboard.press('4');
        assert(!/No run/.test(await page.textContent('#panel-runs')),
          'no runs, before they were asked for');
        await page.unroute(/\/api\/v1\/(services|series|runs|compare)/);
        await Promise.all(held.map((r) => r.continue().catch(() => 0)));
        await loaded(page, 'runs');
      })],
    ['offline: can be forced, is kept in the address, and left', () =>
      withPage(browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html');
        await modeIs(page, 'live');
        await page.click('#mode [data-value=offline]');
        await modeIs(page, 'offline');
        assert(/mode=offline/.test(page.url()), 'not in the address');
        await page.reload();
        await modeIs(page, 'offline');
        equal((await page.textContent('#health')).trim(), '○Demo',
          'the server\'s health beside the demo');
        await page.click('#health');
        await page.waitForSelector(
          '.health-pop p:has-text("Of the server, not of the demo")');
        await page.keyboard.press('Escape');
        await page.click('#mode [data-value=live]');
        await modeIs(page, 'live');
      })],
    ['offline: every card has its answer in the snapshot', () => withPage(
      browser, { home: files }, async (page) => {
        await page.goto(files + 'dashboard.html');
        await loaded(page, 'memory');
        const empty = await page.$$eval('#panel-memory .card', (cards) =>
          cards.filter((c) => c.dataset.state === 'absent' ||
            c.querySelector('.chart-note:not([hidden])'))
            .map((c) => c.querySelector('.card-title').textContent));
        equal(empty.join(', '), '', 'cards without data');
        await page.click('#tab-profiles');
        await loaded(page, 'profiles');
        assert(await page.locator('.fn-table tbody tr').count() > 5,
          'no functions');
        await page.click('#tab-deps');
        await loaded(page, 'deps');
        equal(await page.locator('#panel-deps .segments:visible:not(' +
          ':has(button:visible))').count(), 0, 'empty groups of buttons');
        for (const depth of ['3', '4']) {
          await page.click(`.segment[data-value="${depth}"]`);
          await until(async () => (await page.textContent('.command-text'))
            .includes('--depth ' + depth), 3000, 'depth ' + depth);
        }
      })],
    ['offline: a brush narrows the flame graph too', () => withPage(browser,
      { home: files }, async (page) => {
        await page.goto(files + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        const facts = () => page.textContent('.flame-facts');
        const whole = await facts();
        const box = await page.locator('#panel-profiles .u-over').first().boundingBox();
        await page.mouse.move(box.x + box.width * 0.6, box.y + 40);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * 0.8, box.y + 40,
          { steps: 4 });
        await page.mouse.up();
        await until(async () => await facts() !== whole, 3000,
          'the flame graph stayed the same');
        assert(await page.locator('.fn-table tbody tr').count() > 5,
          'no functions in the part');
      })]
  ];
}

/* All the page shows of a service: numbers, table, facts. */
const shown = (page) => page.textContent('#panel-profiles');

function lost({ browser, base }) {
  return [
    ['lost: what was shown stays, with since when, and Live returns', () =>
      withPage(browser, { allowed: NET }, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await modeIs(page, 'live');
        await loaded(page, 'profiles');
        await page.route('**/api/v1/**', (route) => route.abort());
        const had = await shown(page);
        /* Following asks each 10 s: that must not empty the page either. */
        await page.click('[aria-label="Refresh"]');
        await modeIs(page, 'lost', 2 * REFRESH);
        assert(/No connection since \d\d:\d\d:\d\d.*loaded before/.test(
          await page.textContent('#banner')), 'since when is not said');
        equal(await shown(page), had, 'what is shown');
        await page.waitForTimeout(11000);
        equal(await shown(page), had, 'what is shown, 11 s later');
        equal(await page.evaluate(() => document.body.dataset.mode), 'lost',
          'the mode, 11 s later');
        await page.unroute('**/api/v1/**');
        await modeIs(page, 'live');
        equal(await page.isVisible('#banner'), false, 'banner while live');
      })],
    ['lost: another question is answered by its failure', () => withPage(
      browser, { allowed: NET }, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await modeIs(page, 'live');
        await loaded(page, 'profiles');
        await page.route('**/api/v1/**', (route) => route.abort());
        await modeIs(page, 'lost', 2 * REFRESH);
        await page.click('.segment[data-value=now-5m]');
        await until(async () => /cannot be reached/.test(
          await page.textContent('.flame-body > .chart-note')), REFRESH,
        'the failure is not said');
      })],
    ['lost: the demo is opened by a choice alone', () => withPage(browser,
      { allowed: NET }, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await modeIs(page, 'live');
        await until(() => page.evaluate(() => !!window.MemLens.snapshot),
          REFRESH, 'the snapshot at hand');
        await page.route('**/api/v1/**', (route) => route.abort());
        await modeIs(page, 'lost', 2 * REFRESH);
        await page.click('#banner button:has-text("Open the demo")');
        await modeIs(page, 'offline');
        assert(/Offline demo/.test(await page.textContent('#banner')),
          'it is not marked');
      })],
    ['lost: a gateway without its workers is not a demo', () => withPage(
      browser, { allowed: NET }, async (page) => {
        await page.route('**/api/v1/**', (route) => route.fulfill({
          status: 502, contentType: 'text/html', body: '<h1>Bad</h1>' }));
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await modeIs(page, 'lost');
        assert(/Nothing was loaded yet.*502/.test(
          await page.textContent('#banner')), 'the banner does not say why');
        await page.unroute('**/api/v1/**');
        await modeIs(page, 'live');
        await page.waitForSelector('#panel-profiles[data-loaded=live]');
      })]
  ];
}

/* The database is down: the list has all but it. */
async function silence(page, name) {
  await page.route('**/api/v1/services*', async (route) => {
    const res = await route.fetch();
    const body = await res.json();
    body.services = body.services.filter((s) => s.name !== name);
    await route.fulfill({ response: res, json: body });
  });
}

function chosen({ browser, base }) {
  const service = (page) => new URL(page.url()).searchParams.get('service');
  return [
    ['service: the first choice stands in the address', () => withPage(
      browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html');
        await modeIs(page, 'live');
        await loaded(page, 'memory');
        equal(service(page), await page.inputValue('#range-bar select'),
          'the service in the address');
        assert(service(page), 'no service');
      })],
    ['service: one without data stays chosen and is said', () => withPage(
      browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await modeIs(page, 'live');
        await loaded(page, 'profiles');
        const name = service(page);
        await silence(page, name);
        await page.reload();
        await page.waitForSelector('.service-note:not([hidden])');
        equal(service(page), name, 'the service in the address');
        equal(await page.inputValue('#range-bar select'), name, 'chosen');
        assert((await page.textContent('.service-note')).includes(
          'No data of “' + name + '” in this range'), 'it is not said');
        const offer = page.locator('.service-note button').first();
        const other = await offer.getAttribute('data-value');
        assert(other !== name, 'it offers what has no data');
        await offer.click();
        await until(() => service(page) === other, REFRESH, 'the offer');
        await page.waitForSelector('.service-note', { state: 'hidden' });
      })]
  ];
}

/* 0, nothing and not attached. */
function three({ browser, base }) {
  const card = '.stat:has-text("Record cache hits")';
  const says = (name, f, want) => [name, () => withPage(browser, {},
    async (page) => {
      await page.route('**/api/v1/series*', async (route) => {
        const res = await route.fetch();
        const body = await res.json();
        if (/cache_hit_ratio/.test(decodeURIComponent(route.request().url())))
          f(body);
        await route.fulfill({ response: res, json: body });
      });
      await page.goto(base + 'dashboard.html');
      await loaded(page, 'memory');
      equal((await page.textContent(card + ' .stat-value')).trim(), want,
        'the card');
    })];
  const each = (b, v) => {
    b.series = [{ name: 'leveldb_cache_hit_ratio', unit: 'ratio', labels: {},
      points: [[b.from, v], [b.from + b.step, v]] }];
  };
  return [
    says('0 is shown as 0', (b) => each(b, 0), '0 %'),
    says('null is shown as no data', (b) => each(b, null), 'no data'),
    says('not attached is shown as such', (b) => {
      b.series = [];
      b.state = 'not attached';
    }, 'not attached')
  ];
}

export function liveTests(env) {
  return [...health(env), ...offline(env), ...lost(env), ...chosen(env),
    ...three(env)];
}
