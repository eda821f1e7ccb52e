/*
 * The page in front of a MemLens whose processes are really killed:
 *
 *   node killed.mjs BASE_URL RUN PID
 *
 * RUN is the folder of tests/live/run.sh, PID its process, which starts again
 * what ended: not before we have seen that it is gone.
 */
import { readFileSync } from 'node:fs';
import { assert, launch, report, until, withPage } from './harness.mjs';

const [base, run, keeper] = process.argv.slice(2);
const REFRESH = 6500, NET = /Failed to load resource|ERR_/;
const pid = (name) => Number(readFileSync(`${run}/pid/${name}`, 'utf8'));
const keep = (signal) => process.kill(Number(keeper), signal);
const pill = (page) => page.getAttribute('#health', 'title');
const mode = (page) => page.evaluate(() => document.body.dataset.mode);
const browser = await launch();

const flame = (page) => page.textContent('#panel-profiles');

async function open(page, tab) {
  await page.goto(`${base}dashboard.html?v=1&tab=${tab}`);
  await until(async () => await mode(page) === 'live', REFRESH, 'live');
}

const tests = [
  ['the CPU tab names LevelDB\'s functions', () => withPage(browser, {},
    async (page) => {
      await open(page, 'profiles');
      await until(async () => /leveldb::/.test(await flame(page)), 15000,
        'a LevelDB function in the table');
    })],
  ['the line graph moves', () => withPage(browser, {}, async (page) => {
    await open(page, 'profiles');
    const range = () => page.textContent('#range-bar');
    const before = await range();
    await until(async () => await range() !== before, 25000,
      'another range');
  })],
  ['the collector is killed: the page says so within one refresh', () =>
    withPage(browser, {}, async (page) => {
      await open(page, 'profiles');
      keep('SIGSTOP');
      process.kill(pid('memlensd'), 'SIGKILL');
      let asked = 0;
      page.on('request', (r) => { asked += /\/health/.test(r.url()); });
      await until(async () => /no collector|nothing for/.test(
        await pill(page)), REFRESH, 'the pill says so');
      assert(asked <= 3, 'not before it has asked ' + asked + ' times');
      keep('SIGCONT');
      assert(/leveldb::/.test(await flame(page)), 'the history went');
      /* whatever else runs on the host may have stacks that are not whole */
      await until(async () => /Healthy|not whole/.test(await pill(page)) &&
        !/no collector|nothing for/.test(await pill(page)), 40000, 'healthy again');
    })],
  ['everything stops: what was shown stays, not a demo, and Live again',
    () => withPage(browser, { allowed: NET }, async (page) => {
      await open(page, 'profiles');
      await until(async () => /leveldb::/.test(await flame(page)), 15000,
        'a LevelDB function in the table');
      keep('SIGSTOP');
      process.kill(pid('nginx'), 'SIGTERM');
      await until(async () => await mode(page) === 'lost', 3 * REFRESH,
        'lost');
      const had = await flame(page), service = new URL(page.url())
        .searchParams.get('service');
      assert(/No connection since \d\d:\d\d:\d\d/.test(
        await page.textContent('#banner')), 'since when is not said');
      await page.waitForTimeout(2 * REFRESH);
      assert(await flame(page) === had, 'what was shown did not stay');
      assert(service === 'kvservice' && page.url().includes(service),
        'the address lacks the service');
      keep('SIGCONT');
      await until(async () => await mode(page) === 'live', 40000,
        'live again');
    })]
];

const failed = await report(tests);
keep('SIGCONT');
await browser.close();
process.exitCode = failed ? 1 : 0;
