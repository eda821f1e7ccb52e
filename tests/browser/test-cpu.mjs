/* The CPU tab: range, brush, profile, search. */
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

async function brush(page, from, to) {
  const box = await page.locator('#panel-profiles .u-over').first().boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, y, { steps: 5 });
  await page.mouse.up();
}

const span = (q) => Number(q.get('until')) - Number(q.get('from'));

function ranges({ browser, base }) {
  return [
    ['brush: the flame graph asks for the brushed range', () => withPage(
      browser, {}, async (page) => {
        const asked = requests(page, 'flamegraph.json');
        /* A range that stands still, however slow this machine is. */
        const end = Math.floor(Date.now() / 10000) * 10;
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&from=' +
          (end - 3600) + '&until=' + end);
        await loaded(page, 'profiles');
        const before = asked[asked.length - 1];
        equal(span(before), 3600, 'first range');
        await brush(page, 0.5, 0.75);
        await until(() => asked.some((q) => span(q) < 1200), 5000,
          'no narrower request');
        const q = asked[asked.length - 1];
        const start = Number(before.get('from')) + 1800;
        assert(Math.abs(span(q) - 900) <= 30, 'asked ' + span(q) + ' s');
        assert(Math.abs(Number(q.get('from')) - start) <= 30,
          'the range starts elsewhere');
        equal(Number(q.get('from')) % 10, 0, 'from in whole slots');
        const line = page.url();
        assert(line.includes('from=' + q.get('from')), 'not in the address');
        await loaded(page, 'profiles');
        await page.click('.crumbs .crumb');
        await until(() => span(asked[asked.length - 1]) === 3600, 5000,
          'the breadcrumb did not lead back');
      })],
    ['brush: back and forward walk the ranges', () => withPage(browser, {},
      async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        await brush(page, 0.2, 0.4);
        await until(() => span(asked[asked.length - 1]) < 3600, 5000, 'brush');
        await loaded(page, 'profiles');
        await page.goBack();
        await until(() => span(asked[asked.length - 1]) === 3600, 5000,
          'back');
      })],
    ['presets and keys change the range', () => withPage(browser, {},
      async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        await page.click('[data-value="now-15m"]');
        await until(() => span(asked[asked.length - 1]) === 900, 5000,
          '15 minutes');
        await page.focus('#panel-profiles .chart');
        await page.keyboard.press('+');
        await until(() => span(asked[asked.length - 1]) === 450, 5000,
          'plus');
      })]
  ];
}

/* A series answer with holes, whatever the server has. */
async function withGap(page) {
  await page.route('**/api/v1/series*', async (route) => {
    const res = await route.fetch().catch(() => null);
    if (!res) // the page is gone
      return route.abort().catch(() => 0);
    const body = await res.json();
    for (const s of body.series)
      s.points.forEach((p, i) => {
        p[1] = i > 40 && i < 80 ? null : 2.5;
      });
    await route.fulfill({ response: res, json: body });
  });
}

function lines({ browser, base }) {
  return [
    ['the line is not clipped at 100 % and keeps gaps', () => withPage(
      browser, {}, async (page) => {
        await withGap(page);
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        const label = await page.getAttribute('#panel-profiles .chart',
          'aria-label');
        assert(/[1-9]\d\d %/.test(label), 'no value over 100 %: ' + label);
        assert(/39 gaps/.test(label), 'the gap is not said: ' + label);
        assert(/one CPU/.test(await page.textContent('.chart-card')),
          'the unit is not said');
      })],
    ['the whole host can be chosen', () => withPage(browser, {},
      async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        await page.selectOption('[aria-label="Service"]', '*');
        await until(() => asked[asked.length - 1].get('query') === 'cpu',
          5000, 'a request without a service');
        await until(async () => /whole host/.test(await page.textContent(
          '.flame-card .card-title')), 5000, 'the title');
        assert(page.url().includes('service='), 'not in the address');
        await page.click('#tab-memory');
        await until(async () => /Choose a service/.test(
          await page.textContent('[aria-label="Storage engine"]')), 5000,
        'it has no storage engine');
      })],
    ['0 samples and no data are different facts', () => withPage(browser, {},
      async (page) => {
        const empty = { version: 1, flamebearer: { names: ['total'],
          levels: [[0, 0, 0, 0]], numTicks: 0, maxSelf: 0 } };
        let state = 'zero', more = { slots: 5 };
        await page.route('**/api/v1/flamegraph.json*', (route) =>
          route.fulfill({ json: { ...empty, memlens: { state, samples: 0,
            why: 'no rights', slots: 0, lost: {}, unit: 'nanoseconds',
            period: 10101010, ...more } } }));
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        const note = () => page.textContent('.flame-body > .chart-note');
        assert(/^0 samples.*active/.test(await note()), await note());
        state = 'no data';
        more = { slots: 5, incomplete: true, why: 'waits were lost',
          lost: { 'ring full': 7 } };
        await page.keyboard.press('r');
        await until(async () => /^No data: waits were lost/.test(
          await note()), 4000, 'no data as some was lost');
        const facts = await page.textContent('.flame-facts');
        assert(/lost: 7 ring full/.test(facts), facts);
        more = {};
        await page.keyboard.press('r');
        await until(async () => /^No data: no rights/.test(await note()), 4000,
          'no data');
        state = 'not attached';
        await page.keyboard.press('r');
        await until(async () => /is not attached: no rights/.test(
          await note()), 4000, 'not attached');
      })]
  ];
}

/* Only made-up data has a latency that is known beforehand. */
function operations({ browser, base, mock }) {
  return !mock ? [] : [
    ['operations: rates and percentiles of the service’s histogram', () =>
      withPage(browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=memory');
        await loaded(page, 'memory');
        const label = () => page.getAttribute(
          '[aria-label="Operations"] .chart-card:nth-child(2) .chart',
          'aria-label');
        assert(/get: last 10 ms – 100 ms.*set: last 10 ms – 100 ms/.test(
          await label()), await label());
        await page.selectOption('[aria-label="Percentile"]', '0.5');
        await until(async () => /get: last 100 µs – 1 ms/.test(await label()), 5000,
          'the median');
        assert(page.url().includes('q=0.5'), 'not in the address');
      })]
  ];
}

/* However low the window, and wherever the frame. */
function menus({ browser, base }) {
  return [['the menu of a frame opens inside of the window', () => withPage(
    browser, { viewport: { width: 700, height: 420 } }, async (page) => {
      await page.goto(base + 'dashboard.html?v=1&tab=profiles&view=flame');
      await loaded(page, 'profiles');
      const graph = page.locator(
        '#panel-profiles .flame-body .flame-pane .flame-box');
      for (const block of ['start', 'center', 'end'])
        for (const keys of [['ArrowDown'], Array(5).fill('ArrowDown')]) {
          await graph.focus();
          for (const key of keys)
            await page.keyboard.press(key);
          await graph.evaluate((n, at) => n.scrollIntoView({ block: at }),
            block);
          await page.keyboard.press('Shift+F10');
          const box = await page.locator('.menu[role=menu]').boundingBox();
          assert(box.x >= 0 && box.y >= 0 && box.x + box.width <= 700 &&
            box.y + box.height <= 420, block + ': ' + JSON.stringify(box));
          await page.keyboard.press('Escape');
          await page.waitForSelector('.menu[role=menu]',
            { state: 'detached' });
        }
    })]];
}

function profile({ browser, base }) {
  return [
    ['search filters the table and says what matched', () => withPage(
      browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        const rows = page.locator('.fn-table tbody tr');
        const all = await rows.count();
        const name = await rows.first().locator('.fn-text').textContent();
        await page.keyboard.press('/');
        await page.keyboard.type(name);
        await until(async () => await rows.count() < all &&
          /% matched/.test(await page.textContent('.matched')), 3000,
        'the filter and its share');
        assert(page.url().includes('search='), 'not in the address');
        await page.fill('#flame-search', '/(/');
        await until(async () => /not an expr/.test(await page.textContent(
          '.matched')), 3000, 'a bad expression is said');
      })],
    ['a cut graph says so; table, search and sandwich are of the whole', () =>
      withPage(browser, {}, async (page) => {
        await page.route('**/api/v1/flamegraph.json*', async (route) => {
          const res = await route.fetch();
          const body = await res.json();
          const { numTicks } = body.flamebearer;
          Object.assign(body.flamebearer, { names: ['total', '(other)'],
            levels: [[0, numTicks, 0, 0], [0, numTicks, numTicks, 1]] });
          delete body.memlens.sample_levels;
          body.memlens.cut = { total: numTicks };
          body.memlens.kinds = ['unknown', 'unknown'];
          await route.fulfill({ response: res, json: body });
        });
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        assert(/not drawn by function: 100 %/.test(await page.textContent(
          '.flame-facts')), 'it is not said');
        const rows = page.locator('.fn-table .fn-text');
        assert(await rows.count() > 5, 'no functions');
        const list = await rows.allTextContents();
        assert(!list.includes('(other)'), '(other) is a function');
        await page.fill('#flame-search', list[0]);
        await until(async () => /^[1-9].*% matched/.test(await
        page.textContent('.matched')), 5000, 'the share of all stacks');
        await page.click('.segment:has-text("Sandwich")');
        await rows.first().click();
        await page.waitForSelector('.sandwich:not(.sandwich-empty) canvas');
      })],
    ['a zoom is kept in the address and left by back', () => withPage(
      browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&view=flame');
        await loaded(page, 'profiles');
        const crumb = page.locator('.flame-crumbs [aria-current]');
        await page.focus('.flame-pane .flame-box');
        for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter'])
          await page.keyboard.press(key);
        const name = await crumb.textContent();
        assert(page.url().includes('zoom='), 'not in the address');
        await page.reload();
        await loaded(page, 'profiles');
        equal(await crumb.textContent(), name, 'zoom after a reload');
        await page.goBack();
        await until(async () => await crumb.count() === 0, 3000, 'back');
      })],
    ['sandwich shows callers and callees of the chosen function', () =>
      withPage(browser, {}, async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&view=sandwich');
        await loaded(page, 'profiles');
        await page.locator('.fn-table .fn-name').nth(2).click();
        await page.waitForSelector('.sandwich:not(.sandwich-empty) canvas');
        assert(page.url().includes('fn='), 'not in the address');
      })],
    ['columns sort both ways, self first', () => withPage(browser, {},
      async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&view=table');
        await loaded(page, 'profiles');
        const total = () => page.$$eval('.fn-table tbody td:nth-child(3)',
          (list) => list.map((n) => parseFloat(n.title.replace(/,/g, ''))));
        await page.click('.sort-button:has-text("Total")');
        const down = await total();
        assert(down.every((v, i) => i === 0 || v <= down[i - 1]),
          'not descending');
        await page.click('.sort-button:has-text("Total")');
        const up = await total();
        assert(up[0] <= up[up.length - 1], 'not ascending');
      })],
    ['source places are a column on demand, and stand in the sandwich', () =>
      withPage(browser, {}, async (page) => {
        let name = '', known = false;
        const kinds = ['user', 'library', 'kernel', 'jit', 'unknown'];
        await page.route('**/api/v1/table.json*places=1*', (route) =>
          route.fulfill({ json: { rows: known ? kinds.map((kind) => ({ name,
            kind, places: [{ file: 'db/db_impl.cc', line: 1124,
              module: 'kv', build_id: '0a' }] })) : [] } }));
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&view=table');
        await loaded(page, 'profiles');
        name = await page.locator('.fn-table .fn-text').first().textContent();
        const column = page.locator('.fn-table td.place-col');
        equal(await column.count(), 0, 'cells before it was asked for');
        await page.click('.flame-toolbar .button:has-text("Source")');
        await until(async () => /inline = yes/.test(await page.textContent(
          '.fn-table .table-more')), 5000, 'why there is none');
        known = true;
        await page.keyboard.press('r');
        await until(async () => await column.first().textContent() ===
          'db_impl.cc:1124', 5000, 'the place');
        assert(page.url().includes('places=1'), 'not in the address');
        await page.click('.segment:has-text("Sandwich")');
        await page.locator('.fn-table .fn-name').first().click();
        await until(async () => await page.textContent('.sandwich-place') ===
          'db/db_impl.cc:1124 in kv', 5000, 'the place in the sandwich');
      })],
    ['folded text can be taken away', () => withPage(browser, {},
      async (page) => {
        await page.goto(base + 'dashboard.html?v=1&tab=cpu');
        await loaded(page, 'profiles');
        await page.click('.flame-toolbar .button:has-text("Export")');
        const [file] = await Promise.all([page.waitForEvent('download'),
          page.click('.menu-item:has-text("Folded")')]);
        assert(/\.folded$/.test(file.suggestedFilename()), 'its name');
      })]
  ];
}

/* The mock has a type that no script knows. */
function types({ browser, base }) {
  return [['a new type of profiles is a choice, with its title and its unit', () =>
      withPage(browser, {}, async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await page.goto(base + 'dashboard.html?v=1&tab=cpu&' +
          'service=kv_service');
        await loaded(page, 'profiles');
        const facts = () => page.textContent('.flame-facts');
        assert(/ of CPU time/.test(await facts()), await facts());
        const choice = page.getByRole('combobox', { name: 'Profile' });
        equal((await choice.locator('option').allTextContents()).join(),
          'CPU time,Wall time,Wonders seen,' +
            'Memory allocated,Memory in use', 'types');
        await choice.selectOption('Wonders seen');
        await until(async () => /^[\d,]+ wonders seen/.test(await facts()),
          5000, 'its amount');
        equal(asked[asked.length - 1].get('query'),
          'wonders{service="kv_service"}', 'what was asked');
        assert(/^[\d,]+$/.test(await page.locator(
          '.fn-table tbody td .cell-text').first().evaluate((n) =>
          n.firstChild.textContent)), 'the unit of the table');
        await page.reload();
        await loaded(page, 'profiles');
        equal(await choice.inputValue(), 'wonders', 'after a reload');
      })],
    ['wall time is coloured by state; idle waits are a click away', () =>
      withPage(browser, {}, async (page) => {
        const asked = requests(page, 'flamegraph.json');
        await page.goto(base + 'dashboard.html?v=1&tab=profiles&type=wall&' +
          'service=kv_service');
        await loaded(page, 'profiles');
        const facts = () => page.textContent('.flame-facts');
        assert(/of wall time.* on CPU · off CPU .*from 1 ms/.test(
          await facts()), await facts());
        equal((await page.locator('.kind-legend:visible').allTextContents())
          .join(), 'on CPUbothwaits', 'the legend');
        const kept = asked.find((q) => q.get('max-nodes') > 1);
        equal(kept.get('query'), 'wall{service="kv_service"}', 'asked');
        equal(kept.get('idle'), 'hide', 'without idle waits');
        const idle = page.locator('.toggle:has-text("Idle waits")');
        assert(/hidden: .*[1-9].* %\)/.test(await idle.textContent()),
          await idle.textContent());
        await idle.click();
        await until(async () => /shown: .*[1-9].* %\)/.test(
          await idle.textContent()), 5000, 'they are shown');
        assert(page.url().includes('idle=1'), 'not in the address');
        const states = page.locator('.chart-card:has-text("Thread states")');
        const label = await states.locator('.chart').getAttribute(
          'aria-label');
        assert(/on CPU: last/.test(label) && !/pipe/.test(label), label);
        await states.locator('.legend-item:has-text("poll")').click();
      })]];
}

export function cpuTests(env) {
  return [...env.mock ? types(env) : [], ...ranges(env), ...lines(env), ...menus(env),
    ...profile(env), ...operations(env)];
}
