/* The playground: what is typed arrives, and every refusal is explained. */
import { assert, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

async function type(page, line) {
  const before = await page.locator('.term-line').count();
  await page.fill('.term-input', line);
  await page.keyboard.press('Enter');
  await until(async () => await page.locator('.term-line').count() >=
    before + 2, 8000, 'an answer to ' + line);
  return page.locator('.term-line').last().textContent();
}

async function open(page, base) {
  await page.goto(base + 'dashboard.html');
  await loaded(page, 'memory');
}

const PAIRS = [
  ['plain', 'value', 'set plain value', 'get plain'],
  ['two words', 'a  b', 'set "two words" \'a  b\'', 'get "two words"'],
  ['a/b//c%2F?d#e', 'x', 'set a/b//c%2F?d#e x', 'get a/b//c%2F?d#e'],
  ['say "hi"', '{"a": "b\\n"}', 'set "say \\"hi\\"" \'{"a": "b\\n"}\'',
    'get \'say "hi"\''],
  ['ключ ☃ 🗝', 'значение 🎉', 'resdb set --key "ключ ☃ 🗝" ' +
    '--value "значение 🎉"', 'resdb get --key "ключ ☃ 🗝"']
];

function pairs({ browser, base }) {
  return PAIRS.map(([key, value, set, get]) =>
    ['playground: set and get of ' + key, () => withPage(browser, {},
      async (page) => {
        await open(page, base);
        const stored = await type(page, set);
        assert(/^accepted/.test(stored), stored);
        assert(/\d (µs|ms|s)$/.test(stored), 'no latency: ' + stored);
        let got = '';
        /* A replicated store may need a moment to commit. */
        await until(async () => {
          got = await type(page, get);
          return got.startsWith(value);
        }, 15000, value + ' came back, not ' + got);
      })]);
}

function refusals({ browser, base }) {
  const says = (status, want) => ['playground: ' + status + ' is explained',
    () => withPage(browser, { allowed: /status of/ }, async (page) => {
      await page.route('**/api/v1/kv/**', (route) => route.fulfill({ status,
        json: { error: 'because', field: '', detail: '' } }));
      await open(page, base);
      const said = await type(page, status === 403 ? 'set a b' : 'get a');
      assert(want.test(said), said);
    })];
  return [says(403, /^not allowed here: because$/), says(404, /^no such key$/),
    says(502, /database/), says(504, /2 seconds/),
    ['playground: a missing key is 404 for real', () => withPage(browser,
      { allowed: /404/ }, async (page) => {
        await open(page, base);
        equal(await type(page, 'get nobody-stored-this-9431'), 'no such key',
          'answer');
      })]];
}

/* The latency test asks before it writes, and tells both latencies. */
function latency({ browser, base }) {
  const run = (answer, want, more) => withPage(browser, {}, async (page) => {
    page.on('dialog', (d) => (answer ? d.accept() : d.dismiss()));
    if (more)
      await page.route('**/actions/latency-test', async (route) => {
        const res = await route.fetch(), json = await res.json();
        Object.assign(json.run.latency, more);
        await route.fulfill({ json });
      });
    await open(page, base);
    await page.fill('.term-input', 'latency');
    await page.keyboard.press('Enter');
    await until(async () => want.test(await page.textContent('.term-log')),
      8000, String(want));
  });
  return [['playground: the latency test writes nothing unless confirmed',
    () => run(false, /Nothing was written/)],
  ['playground: accepted and committed have quantiles apart', () => run(true,
    /accepted: p50 500 µs.*p99 1.5 ms.*of 200.*committed: p50 200 ms.*p99 600 ms.*kept as the run/)],
  ['playground: a test that stopped says why', () => run(true,
    /1 were accepted and not found.*stopped after 20 of 200, a read: the/,
    { sent: 20, unread: 1, stopped: 'a read: the target is silent' })]];
}

/* Accepted and stored are told apart. */
function writes({ browser, base }) {
  const says = (name, more, want) => ['playground: ' + name,
    () => withPage(browser, {}, async (page) => {
      let asked = '';
      await page.route('**/api/v1/kv/**', (route) => {
        asked = new URL(route.request().url()).search;
        route.fulfill({ json: { key: 'a', value: 'b', latency_seconds: 0.001,
          ...more } });
      });
      await open(page, base);
      const said = await type(page, 'store a b');
      assert(want.test(said), said);
      equal(asked, '?read-back=1', 'the request');
    })];
  return [says('what is stored was read back', { state: 'stored',
    stored_seconds: 0.21 }, /^stored a: accepted, .*210 ms.*1 ms$/),
  says('what was not found again is not called stored', { state: 'accepted',
    stored_seconds: null }, /^accepted a, but not found again: not within/),
  says('why it was not is told', { state: 'accepted', stored_seconds: null,
    read_back: 'the target does not answer in time' }, /again: the target/)];
}

function manners({ browser, base, files }) {
  return [
    ['playground: history by arrow keys, help, clear', () => withPage(
      browser, {}, async (page) => {
        await open(page, base);
        await type(page, 'bogus one');
        await type(page, 'bogus two');
        await page.keyboard.press('ArrowUp');
        await page.keyboard.press('ArrowUp');
        equal(await page.inputValue('.term-input'), 'bogus one', 'history');
        await page.keyboard.press('ArrowDown');
        equal(await page.inputValue('.term-input'), 'bogus two', 'forward');
        await type(page, 'help');
        assert((await page.textContent('.term-log')).includes(
          'resdb get --key K'), 'help');
        await page.fill('.term-input', 'clear');
        await page.keyboard.press('Enter');
        equal(await page.locator('.term-line').count(), 0, 'lines');
      })],
    ['playground: Offline says that it needs Live', () => withPage(browser,
      {}, async (page) => {
        await open(page, files);
        assert(/needs Live/.test(await type(page, 'get a')), 'the message');
      })],
    ['playground: markup stays text', () => withPage(browser,
      { allowed: /status of/ }, async (page) => {
        await page.route('**/api/v1/kv/**', (route) => route.fulfill({
          json: { key: 'a', value: '<img src=x onerror=bad()>',
            latency_seconds: 0.001 } }));
        await open(page, base);
        const said = await type(page, 'get a');
        assert(said.startsWith('<img src=x'), said);
        equal(await page.locator('.term-log img').count(), 0, 'images');
      })]
  ];
}

export function playTests(env) {
  return [...pairs(env), ...refusals(env), ...writes(env), ...latency(env),
    ...manners(env)];
}
