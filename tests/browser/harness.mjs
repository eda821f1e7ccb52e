/*
 * What the browser tests share: Chromium, pages that collect their errors,
 * a copy of the pages as they are served, and the TAP-like report.
 */
import { createRequire } from 'node:module';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync,
  rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const FRONTEND = fileURLToPath(new URL('../../frontend/', import.meta.url));
const require = createRequire(join(FRONTEND, 'package.json'));
const { chromium } = require('playwright-core');
/* How much longer than on a quiet machine anything may take. */
const PATIENCE = 10;
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

/* The first that is there: the shell draws no frame of a browser around its
 * pages, which costs half. */
const PROGRAMS = [process.env.CHROMIUM, '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium'];

export function launch() {
  return chromium.launch({ executablePath: PROGRAMS.find((path) =>
    path && existsSync(path)), headless: true, args: ARGS });
}

/* A directory as the build makes it; returns {url, remove}. */
export function copyOfPages() {
  const dir = mkdtempSync(join(tmpdir(), 'memlens-www-'));
  for (const name of readdirSync(FRONTEND))
    if (name.endsWith('.html') || ['css', 'js', 'snapshots'].includes(name))
      cpSync(join(FRONTEND, name), join(dir, name), { recursive: true });
  mkdirSync(join(dir, 'lib'));
  for (const name of ['uPlot.iife.min.js', 'uPlot.min.css'])
    cpSync(join(FRONTEND, 'node_modules/uplot/dist', name),
      join(dir, 'lib', name));
  return { url: pathToFileURL(dir + '/').href,
    remove: () => rmSync(dir, { recursive: true }) };
}

/* The page waits for answers as much longer as the tests do for the page. */
function patient(times) {
  const limit = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => limit(ms * times);
}

/*
 * Runs f(page) in a fresh context.  Errors on the console, uncaught ones and
 * requests to other hosts fail the test, unless `allowed` matches them.
 * `hurried`: the page's own limits are left to it.
 */
export async function withPage(browser, options, f) {
  const { allowed = /^$/, home, hurried, ...rest } = options;
  const context = await browser.newContext({
    viewport: { width: 1400, height: 900 }, ...rest });
  if (!hurried)
    await context.addInitScript(patient, PATIENCE);
  const page = await context.newPage();
  const errors = [];
  const note = (text) => {
    if (!allowed.test(text))
      errors.push(text);
  };
  page.on('console', (m) => m.type() === 'error' && note(m.text()));
  page.on('pageerror', (e) => note('uncaught ' + e.message));
  page.on('request', (r) => {
    const url = new URL(r.url());
    if (home && url.origin !== new URL(home).origin &&
      !['blob:', 'data:'].includes(url.protocol))
      note('asks another host: ' + r.url());
  });
  page.setDefaultTimeout(12000 * PATIENCE);
  try {
    await f(page, context);
    if (errors.length)
      throw new Error('page errors: ' + errors.join(' | '));
  } finally {
    /* An answer that is being changed right now is nobody's any more: its
     * failure would end the runner. */
    await page.unrouteAll({ behavior: 'ignoreErrors' }).catch(() => 0);
    await context.close();
  }
}

/* What axe-core finds wrong on the page, one line each. */
export async function audit(page) {
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'),
    'utf8'));
  /* What has been drawn anew meanwhile is judged as it is now: a row that
   * has left the page has no text any more. */
  return page.evaluate(async () => {
    let found;
    for (let i = 0; i < 4; i++) {
      found = await window.axe.run({ resultTypes: ['violations'],
        elementRef: true });
      if (found.violations.every((v) => v.nodes.every((n) =>
        !n.element || n.element.isConnected)))
        break;
    }
    return found.violations.map((v) => v.id + ': ' + v.nodes
      .map((n) => n.target.join(' ')).slice(0, 3).join(', '));
  });
}

export function assert(ok, why) {
  if (!ok)
    throw new Error(why);
}

export function equal(got, want, what) {
  assert(got === want, `${what}: got ${JSON.stringify(got)}, ` +
    `want ${JSON.stringify(want)}`);
}

/* Until cond() is true, for at most `ms` on a quiet machine. */
export async function until(cond, ms, why) {
  const end = Date.now() + ms * PATIENCE;
  while (Date.now() < end) {
    if (await cond())
      return;
    await new Promise((r) => setTimeout(r, 100));
  }
  throw new Error('not within ' + ms * PATIENCE + ' ms: ' + why);
}

/* Did it pass?  Prints a line. */
async function judge([name, f]) {
  try {
    await f();
    console.log('ok - ' + name);
    return true;
  } catch (e) {
    console.log('not ok - ' + name + ' - ' +
      String(e.message).split('\n')[0]);
    return false;
  }
}

/*
 * Runs [[name, f]], prints a line each as it ends, returns the number that
 * failed.  So many run at a time, each in a context of its own: most of a
 * test is waiting for the page's own clocks.
 */
export async function report(tests, only = '', many = 1) {
  const left = tests.filter(([name]) => name.includes(only));
  let failed = 0;
  await Promise.all(Array.from({ length: many }, async () => {
    while (left.length)
      failed += !await judge(left.shift());
  }));
  return failed;
}
