/*
 * The pages in a real browser:
 *
 *   node run.mjs --mock | BASE_URL [--only TEXT] [--set NAME]
 *
 * BASE_URL is where a running MemLens serves its pages.  With --mock they
 * are served by mock.mjs, below a sub-path, as behind a reverse proxy.
 * Failures of the server are made by intercepting requests, so the same
 * tests run against both.  --set compare runs the tests of comparisons,
 * which are not among the others and share the named runs: one at a time,
 * as all tests against a running MemLens.
 */
import { start } from './mock.mjs';
import { copyOfPages, launch, report } from './harness.mjs';
import { pageTests } from './test-pages.mjs';
import { depsTests } from './test-deps.mjs';
import { liveTests } from './test-live.mjs';
import { cpuTests } from './test-cpu.mjs';
import { heatTests } from './test-heat.mjs';
import { heapTests } from './test-heap.mjs';
import { playTests } from './test-playground.mjs';
import { rangeTests } from './test-range.mjs';
import { compareTests } from './test-compare.mjs';

const args = process.argv.slice(2);
const at = args.indexOf('--only');
const only = at >= 0 ? args.splice(at, 2)[1] : '';
const setAt = args.indexOf('--set');
const set = setAt >= 0 ? args.splice(setAt, 2)[1] : 'all';
const SETS = { all: [pageTests, depsTests, liveTests, cpuTests, heatTests,
  heapTests, playTests, rangeTests],
  compare: [compareTests] };
if (args.length !== 1 || !SETS[set]) {
  console.error('usage: run.mjs --mock | BASE_URL [--only TEXT] ' +
    '[--set NAME]');
  process.exit(2);
}

const AT_A_TIME = 4;
const mock = args[0] === '--mock' ? await start(0, '/some/where/') : null;
const base = mock ? mock.base : args[0].replace(/\/?$/, '/');
const files = copyOfPages();
const browser = await launch();
const env = { browser, base, files: files.url, mock: !!mock };
const failed = await report(SETS[set].flatMap((make) => make(env)), only,
  mock && set === 'all' ? AT_A_TIME : 1);
await browser.close();
files.remove();
if (mock)
  mock.server.close();
process.exitCode = failed ? 1 : 0;
