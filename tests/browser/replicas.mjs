/*
 * The pages in front of a double of ResilientDB:
 *
 *	node replicas.mjs BASE_URL RUN PORT...
 *
 * RUN is the folder of tests/live/run.sh, PORT those of the four replicas.  In
 * the folder SHOTS, if that is set, pictures are left.
 */
import { readFileSync } from 'node:fs';
import { assert, audit, equal, launch, report, until,
  withPage } from './harness.mjs';

const [base, run, ...ports] = process.argv.slice(2);
const names = ports.map(Number).sort((a, b) => a - b).map((p) => ':' + p);
const replica = (n) => ':' + ports[n - 1]; /* by its number */
const DIALOG = { fault: 'Carry out the fault' };
const browser = await launch();

async function open(page, query, id = 'services') {
  await page.goto(`${base}dashboard.html?v=1&tab=${id}${query}` +
    (/&from=/.test(query) ? '' : '&from=now-1m'));
  await until(() => page.evaluate(() =>
    document.body.dataset.mode === 'live'), 6500, 'live');
}

async function shot(page, name) {
  if (!process.env.SHOTS)
    return;
  for (const [width, colorScheme] of [[1600, 'light'], [400, 'dark'],
    [1600, 'dark'], [400, 'light']]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 1000 });
    await page.waitForTimeout(600);
    await page.screenshot({ fullPage: true, path:
      `${process.env.SHOTS}/${name}-${width}-${colorScheme}.png` });
  }
  await page.setViewportSize({ width: 1400, height: 900 });
}

/* The rows of the first table: [[cell text]]. */
const rows = (page) => page.$$eval('.services-table', ([t]) =>
  [...t.querySelectorAll('tbody tr')].map((tr) =>
    [...tr.children].map((c) => c.textContent)));

const ask = async (path) => (await fetch(base + 'api/v1/' + path)).json();
const bytes = (text) => Number.parseFloat(text) * (/GiB/.test(text) ? 1024
  : 1); /* in MiB */

async function overview(page) {
  await open(page, '');
  let list = [];
  await until(async () => {
    await page.keyboard.press('r');
    list = await rows(page);
    return list.length === 5 &&
      list.filter((r) => r[1] === 'executes').length === 4 &&
      list.every((r) => /%$/.test(r[2]) && /iB$/.test(r[4])) &&
      list.slice(1).every((r) => Number.parseFloat(r[5]) > 0);
  }, 60000, 'five rows, four that execute: ' + JSON.stringify(await rows(page)));
  assert(/^kv_proxy :\d+$/.test(list[0][0]) && list[0][1] === 'runs' &&
    list[0][5] === '', 'the proxy has no rounds: ' + list[0]);
  equal(list.slice(1).map((r) => r[0]).join(), names.map((n) =>
    'kv_service ' + n).join(), 'replicas by their ports');
  const held = (n) => bytes(list.find((r) => r[0].endsWith(replica(n)))[4]);
  assert([1, 2, 3, 4].every((n) => held(n) >= 8 * n && held(n) < 8 * n + 40),
    'each has its own memory: ' + list.map((r) => r[4]));
  assert(list.slice(1).every((r) => Number.parseFloat(r[5]) > 0),
    'rounds a second: ' + list.map((r) => r[5]));
  equal((await audit(page)).join(' | '), '', 'axe');
  await shot(page, 'services');
}

async function profiles(page) {
  await open(page, '');
  const name = `.service-name:has-text("${replica(2)}")`;
  await page.waitForSelector(name);
  await page.click(name);
  await page.waitForSelector(`.chip:has-text("instance ${replica(2)}")`);
  assert(page.url().includes('service=kv_service'), page.url());
  await until(async () => {
    await page.keyboard.press('r');
    return /execute_message/.test(await page.textContent('#panel-profiles'));
  }, 20000, 'a function of the replica');
  await shot(page, 'profiles');
}

/* Threads that nobody named are told apart by where they began, though a
 * library has named one. */
async function pools() {
  let found = [];
  await until(async () => {
    found = await (await fetch(base + 'label-values?label=pool&query=' +
      encodeURIComponent('cpu{service="kv_service"}'))).json();
    return ['input_process', 'execute_message', 'civetweb-worker']
      .every((p) => found.includes(p));
  }, 20000, 'pools').catch((e) => {
    throw new Error(e.message + ', not ' + found.join(' '));
  });
}

async function compare(page) {
  await open(page, '&service=kv_service&instance=' + replica(2) +
    '&view=compare', 'profiles');
  await page.click('.ab-button >> nth=0');
  await page.click(`.ab-item:has-text("kv_service ${replica(4)}")`);
  await until(async () => new RegExp('kv_service ' + replica(4)).test(
    await page.textContent('.ab-button >> nth=0')), 8000, 'A is replica 4');
  await page.waitForSelector('.compare-table tbody tr:nth-child(3)');
  await shot(page, 'compare');
  /* metrics: what one replica has beside what the other has */
  await open(page, '&service=kv_service&instance=' + replica(1) +
    '&aservice=kv_service&ainstance=' + replica(4), 'runs');
  const row = page.locator('.metrics-table tr', { hasText: 'memtype=resident' })
    .first();
  await row.waitFor();
  const [a, b] = await row.locator('td.num').allTextContents();
  assert(bytes(a) >= 32 && bytes(b) < 32 && bytes(b) >= 8, a + ' and ' + b);
  await shot(page, 'runs');
}

async function playground(page) {
  const type = async (line) => {
    const before = await page.locator('.term-line').count();
    await page.fill('.term-input', line);
    await page.keyboard.press('Enter');
    await until(async () => await page.locator('.term-line').count() >=
      before + 2, 8000, 'an answer to ' + line);
    return page.locator('.term-line').last().textContent();
  };
  await open(page, '&service=kv_service', 'memory');
  const stored = await type('store alpha "one two"');
  assert(/^stored alpha/.test(stored), stored);
  assert(/^one two/.test(await type('get alpha')), 'it is found');
  const refused = await type('set a/b x');
  assert(/would not be found again/.test(refused), refused);
}

/* While the test goes on the terminal answers, and another test is refused. */
async function latency(page) {
  page.on('dialog', (d) => d.accept());
  await open(page, '&service=kv_service', 'memory');
  await page.fill('.term-input', 'latency');
  await page.keyboard.press('Enter');
  let status = 0;
  await until(async () => {
    status = await page.evaluate(async () => (await fetch(
      'api/v1/actions/latency-test', { method: 'POST',
        body: '{"confirmed":true,"samples":201}' })).status);
    return status === 409;
  }, 3000, 'a refusal of another one: ' + status).catch((e) => {
    throw e;
  });
  const began = Date.now();
  const kv = await fetch(base + 'api/v1/kv/nothing-is-here');
  equal(kv.status, 404, 'a key meanwhile');
  assert(Date.now() - began < 5000, 'the key did not wait for the test');
  await until(async () => /accepted: p50 .*of 200.*committed: p50 .*kept/s
    .test(await page.textContent('.term-log')), 12000, 'quantiles: ' +
    await page.textContent('.term-log'));
  await shot(page, 'memory');
}

async function files(page) {
  await open(page, '&service=kv_service', 'memory');
  const log = page.locator('.folders-card tbody tr').first();
  await until(async () => {
    await page.keyboard.press('r');
    return await log.isVisible() && /Logs take .*times as much/.test(
      await page.textContent('.folders-card .compare-words'));
  }, 20000, 'logs beside data');
}

async function fault(page) {
  page.on('dialog', (d) => (d.message().startsWith(DIALOG.fault)
    ? d.accept() : d.dismiss()));
  await open(page, '');
  await page.click('text=Make something faulty');
  await page.waitForSelector('text=silence-replica: carried out');
  const { runs } = await ask('runs');
  const run = runs.find((r) => r.fault);
  assert(run.fault.said === 'replica 3 is silent\n', run.fault.said);
  const marks = await ask('marks?what=fault&from=now-1m');
  equal(marks.marks.map((m) => m.text).join(), 'silence-replica', 'marks');
  await until(() => Date.now() / 1000 > run.fault.after.until + 2.5, 12000,
    'the time after it');
  await page.reload();
  await page.click('.fault-run summary');
  await until(async () => /kv_service .* fell silent/.test(
    await page.textContent('.fault-body')), 8000, 'who fell silent: ' +
    await page.textContent('.fault-body'));
  const said = await page.textContent('.fault-body .compare-words');
  assert(said.includes(replica(3) + ' fell silent') &&
    names.filter((n) => said.includes(n)).length === 1, said);
  const cells = await page.$$eval('.fault-table tbody tr', (all) =>
    all.map((tr) => [...tr.children].map((c) => c.textContent)));
  equal(cells.length, 4, 'four replicas');
  const [, before, after, , p99] = cells.find((c) =>
    c[0].endsWith(replica(3)));
  assert(Number.parseFloat(before) > 0 && after === '0/s' &&
    p99 === 'no data', 'replica 3: ' + before + ', ' + after + ', ' + p99);
  assert(cells.filter((c) => !c[0].endsWith(replica(3))).every((c) =>
    Number.parseFloat(c[2]) > 0 && /s$/.test(c[4])), 'the others go on');
  await shot(page, 'fault');
  await page.click('text=Compare all metrics');
  await page.waitForSelector('.metrics-table tbody tr');
}

/* The page of the protocol, beside its model. */
async function pbft(page) {
  await page.goto(base + 'pbft.html');
  await until(async () => await page.locator('.pbft-replicas tbody tr')
    .count() === 4, 8000, 'four replicas');
  const note = await page.textContent('#pbft-live-note');
  assert(note.includes(`kv_service ${replica(1)} proposes`), note);
  await shot(page, 'pbft');
}

/* Over a day's range what is dead is dead, and what missed rounds has missed
 * them, also when it has executed for a while. */
async function missed(page) {
  let last = [];
  const becomes = (n, state, ms, name) => until(async () => {
    await page.keyboard.press('r');
    await page.waitForTimeout(800); /* or each would stop the one before */
    last = (await rows(page)).find((r) => r[0].endsWith(replica(n))) || [];
    return state.test(last[1]);
  }, ms, name).catch((e) => {
    throw new Error(e.message + ': ' + last);
  });
  await open(page, '&from=now-24h');
  await page.waitForSelector('.services-table tbody tr');
  await becomes(2, /^executes$/, 15000, 'before');
  await page.waitForTimeout(6000); /* ends of short lives are not told */
  process.kill(Number(readFileSync(`${run}/pid/replica2`, 'utf8')), 'SIGKILL');
  await becomes(2, /^ended \(signal 9\) at /, 12000, 'it is dead');
  await shot(page, 'dead');
  const protocol = await page.context().newPage();
  await protocol.goto(base + 'pbft.html');
  await until(async () => /: ended \(signal 9\) at /.test(
    await protocol.textContent('#pbft-live-note')), 8000,
  'the page of the protocol says so');
  await shot(protocol, 'pbft-dead');
  await protocol.close();
  const BACK = /^(behind|executes, missed [\d,]+ in the last hour)$/;
  await becomes(2, BACK, 40000, 'it is back, and has missed some');
  const lag = Number(last[6].replace(/\D/g, ''));
  await page.waitForTimeout(4000);
  await becomes(2, BACK, 5000, 'they stay missed');
  assert(Number(last[6].replace(/\D/g, '')) >= lag * 0.9, lag + ', ' + last);
  if (!process.env.ONLY) {
    await becomes(3, /^silent since /, 5000, 'the silent one');
    await until(async () => JSON.stringify(await ask('health')).includes(
      `kv_service ${replica(3)}: no round of PBFT`), 40000, 'health says so');
  }
  const own = (await rows(page)).filter((r) => names.some((n) =>
    r[0].endsWith(' ' + n)));
  equal(own.length, 4, 'nothing else died: ' + JSON.stringify(own));
  await shot(page, 'missed');
  await page.goto(base + 'pbft.html');
  await until(async () => /: (behind|executes, missed)/.test(
    await page.textContent('#pbft-live-note')), 8000,
  'the page of the protocol says so');
  await shot(page, 'pbft-missed');
}

const on = (f, more = {}) => () => withPage(browser, { home: base, ...more },
  f);
const refused = { allowed: /status of (404|409|422)/ };
process.exitCode = await report([
  ['five services at once', on(overview)],
  ['a line leads to the profiles of its own', on(profiles)],
  ['pools by where threads began', pools],
  ['one replica against another', on(compare)],
  ['the protocol\'s page, live', on(pbft)],
  ['the playground against crow', on(playground, refused)],
  ['the latency of SET, one at a time', on(latency, refused)],
  ['a log beside a small database', on(files)],
  ['a fault run', on(fault)],
  ['one that missed rounds', on(missed)]], process.env.ONLY) ? 1 : 0;
await browser.close();
