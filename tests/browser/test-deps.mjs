/* The dependency graph: what is found, walked, weighed and compared. */
import { assert, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

async function open(page, base, tab, more = '') {
  await page.goto(base + 'dashboard.html?v=1&tab=' + tab + more);
  await loaded(page, tab);
}

function dependencies({ browser, base }) {
  return [
    ['dependencies: depth, search and the command', () => withPage(browser,
      {}, async (page) => {
        await open(page, base, 'deps');
        const nodes = await page.locator('.dep-svg g.node').count();
        assert(nodes > 1, 'nothing is drawn');
        await page.click('.segment[data-value="3"]');
        await until(async () => /\b3\b/.test(await page.textContent(
          '.command-text')), 5000, 'the command does not name depth 3');
        assert(await page.locator('.dep-svg g.node').count() >= nodes,
          'depth 3 has fewer nodes than depth 2');
        const name = await page.locator('.dep-svg g.node title').last()
          .textContent();
        await page.fill('#panel-deps .search-input', name);
        await page.waitForSelector('.dep-name');
        equal(await page.textContent('.dep-name'), name, 'chosen node');
        assert(page.url().includes('node='), 'the address lacks the node');
      })],
    ['dependencies: what nodes cost, why they are there', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, 'deps');
        const texts = () => page.$$eval('.dep-svg g.node', (all) =>
          all.map((n) => n.querySelector('text:last-of-type').textContent));
        await until(async () => (await texts()).every((t) =>
          /^[\d.]+ % \(self [\d.]+ %\)$/.test(t)), 5000, 'no share');
        assert(await page.locator('.dep-svg .dep-bar').count() > 1,
          'no bars');
        assert(/of no node/.test(await page.textContent('.dep-side')),
          'what is of no node is not said');
        const all = await page.locator('.dep-svg g.node:visible').count();
        await page.selectOption('select[aria-label="Show"]', '10');
        await until(async () => await page.locator(
          '.dep-svg g.node:visible').count() < all, 5000, 'all are there');
        await page.selectOption('select[aria-label="Show"]', '');
        await page.locator('.dep-svg g.node').last().focus();
        assert(await page.locator('.dep-svg g.dep-path').count() > 1,
          'no path to what has the focus');
        await page.keyboard.press('Enter');
        await page.waitForSelector('.dep-flame');
        assert(/Why: \d+ shortest path/.test(await page.textContent(
          '.dep-side')), 'it is not said why it is there');
        await page.click('.dep-flame');
        await page.waitForSelector('#panel-profiles:visible');
        equal(new URL(page.url()).searchParams.get('focus'),
          '^(Put\\(char const\\*\\)|main)$', 'focus');
      })],
    ['dependencies: the same drawing stays as it was zoomed', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, 'deps');
        await page.click('button[aria-label="Zoom in"]');
        const box = () => page.getAttribute('.dep-svg', 'viewBox');
        const before = await box();
        await Promise.all([page.waitForResponse(/graph\.svg/),
          page.click('button[aria-label^="Refresh"]')]);
        await page.waitForLoadState('networkidle');
        equal(await box(), before, 'view');
      })],
    ['dependencies: a hostile drawing is disarmed', () => withPage(browser,
      { allowed: /inline event handler/ }, async (page) => {
        await page.route('**/graph.svg*', (route) => route.fulfill({
          contentType: 'image/svg+xml', body:
          '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" ' +
          'onload="window.bad=1"><script>window.bad=2</script>' +
          '<foreignObject/><g class="node" onclick="bad=3"><title>x</title>' +
          '</g></svg>' }));
        await open(page, base, 'deps');
        await page.click('.dep-svg g.node', { force: true })
          .catch(() => undefined);
        equal(await page.evaluate(() => window.bad), undefined, 'ran');
        equal(await page.locator('.dep-svg script, .dep-svg foreignObject')
          .count(), 0, 'foreign elements');
      })]
  ];
}

const shares = (page) => page.$$eval('.dep-svg g.node', (all) =>
  all.map((n) => n.querySelector('text:last-of-type').textContent));

function compared({ browser, base, mock }) {
  return [['dependencies: two ranges on one graph', () => withPage(browser,
    {}, async (page) => {
      await open(page, base, 'deps', '&from=now-20m');
      await page.click('button:text-is("Difference")');
      await until(async () => (await shares(page)).every((t) =>
        /^([\d.]+ %|no data) → ([\d.]+ %|no data)( \([+−±][\d.]+ pp\))?$/
          .test(t)), 5000, 'no pair of shares');
      assert(await page.locator('#panel-deps .ab-bar:visible').count() === 1,
        'no base can be chosen');
      assert(/What moved most/.test(await page.textContent('.dep-side')),
        'what moved');
      await page.click('#panel-deps .ab-button >> nth=0');
      await page.click('.ab-item:visible:has-text("A day before")');
      await until(() => /afrom=\d+/.test(page.url()), 5000,
        'the base is not in the address');
      if (!mock)
        return;
      /* made up: B has twice of all, and the last has gone */
      const last = page.locator('.dep-svg g.node').last();
      await until(async () => / → 0 % \(−/.test(await last.textContent()),
        5000, 'what has gone');
      await last.focus();
      await page.keyboard.press('Enter');
      await page.waitForSelector('.dep-flame');
      const facts = await page.textContent('.dep-facts');
      assert(/total A[\d.]+ % · .*total B0 % · /.test(facts), facts);
      assert(/self moved−/.test(facts), facts);
      const fill = (n) => n.locator('.dep-heat').first().evaluate((el) =>
        getComputedStyle(el).fill);
      const gone = await fill(last);
      const same = await fill(page.locator('.dep-svg g.node').first());
      assert(gone !== same, 'both are ' + gone);
    })]];
}

function answersOf({ browser, base, mock }) {
  return mock ? [['dependencies: no data is not 0 on the graph', () =>
    withPage(browser, {}, async (page) => {
      await page.route('**/graph.json*', async (route) => {
        const d = await (await fetch(route.request().url())).json();
        if (!d.profile_b)
          return route.fulfill({ json: d });
        Object.assign(d.profile_b, { total: 0, slots: 0, samples: null,
          unknown: null, beyond: null, state: 'no data' });
        d.nodes.forEach((n) => Object.assign(n, { self_b: null,
          total_b: null }));
        return route.fulfill({ json: d });
      });
      await open(page, base, 'deps', '&diff=1');
      await until(async () => (await shares(page)).every((t) =>
        /^[\d.]+ % → no data$/.test(t)), 5000, 'no data is told');
      equal(await page.locator('.dep-svg .dep-heat').count(), 0,
        'coloured nodes');
    })],
  ['dependencies: from a function to its node', () => withPage(browser, {},
    async (page) => {
      await open(page, base, 'deps', '&of=main');
      await page.waitForSelector('.dep-name');
      equal(await page.textContent('.dep-name'),
        '//service/utils:server_factory', 'its node');
      assert(/The function main/.test(await page.textContent('.dep-side')),
        'the function is told');
      await page.fill('#panel-deps .flame-toolbar .search-input',
        'no_such_function');
      await page.keyboard.press('Enter');
      await until(async () => /in no stack of this range/.test(
        await page.textContent('.dep-side')), 5000, 'an unknown function');
      await open(page, base, 'profiles', '&view=flame');
      await page.focus('#panel-profiles .flame-canvas-host, ' +
        '#panel-profiles [aria-roledescription="flame graph"]');
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Shift+F10');
      await page.click('text=Its part in the dependency graph');
      await page.waitForSelector('#panel-deps:visible');
      assert(/of=/.test(page.url()), page.url());
    })],
  ['dependencies: a function without its parameters, and several', () =>
    withPage(browser, {}, async (page) => {
      await open(page, base, 'deps');
      const side = () => page.textContent('.dep-side');
      const find = async (name) => {
        await page.fill('#panel-deps .flame-toolbar .search-input', name);
        await page.keyboard.press('Enter');
      };
      await find('Put');
      await until(async () => /The function Put\(char const\*\)/.test(
        await side()), 5000, 'the only one');
      equal(await page.textContent('.dep-name'),
        '//service/utils:server_factory', 'its node');
      await find('kv::join');
      await until(async () => /2 functions kv::join/.test(await side()), 5000,
        'both are listed');
      await page.click('.dep-side .dep-function:text-is(' +
        '"kv::join(char) const")');
      await until(async () => /The function kv::join\(char\) const/.test(
        await side()), 5000, 'the one that is chosen');
    })],
  ['dependencies: a function leads to its flame graph, and back', () =>
    withPage(browser, { viewport: { width: 1000, height: 500 } },
      async (page) => {
        await open(page, base, 'deps', '&node=' +
          encodeURIComponent('//service/utils:server_factory'));
        await page.click('.dep-side .dep-function:text-is("main")');
        await loaded(page, 'profiles');
        equal(new URL(page.url()).searchParams.get('focus'), '^(main)$',
          'focus');
        const graph = page.locator(
        '#panel-profiles .flame-body .flame-pane .flame-box');
        const box = () => graph.boundingBox();
        await until(() => graph.evaluate((n) => n === document.activeElement),
          5000, 'the keys are not in the flame graph');
        const { y } = await box();
        assert(y >= 0 && y < 400, 'the flame graph is at ' + y);
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Shift+F10');
        await page.click('text=Its part in the dependency graph');
        await loaded(page, 'deps');
        await until(() => page.locator('.dep-side').evaluate((n) =>
          n === document.activeElement), 5000, 'what is said has the focus');
      })],
  ['dependencies: all shortest paths between two nodes', () => withPage(
    browser, {}, async (page) => {
      await open(page, base, 'deps', '&depth=4&node=' +
        encodeURIComponent('//common:comm'));
      await page.waitForSelector('.dep-start input');
      await page.fill('.dep-start input', '//executor/kv:kv_executor');
      await page.keyboard.press('Enter');
      await until(async () => /Why: 1 shortest path of 2/.test(
        await page.textContent('.dep-side')), 5000, 'paths between two');
      equal(await page.locator('.dep-svg g.node.dep-path').count(), 3,
        'nodes on them');
      equal(await page.locator('.dep-svg g.edge.dep-path').count(), 2,
        'edges on them');
      await page.fill('.dep-start input', '//no:such');
      await page.keyboard.press('Enter');
      await until(async () => /no node “\/\/no:such”/.test(
        await page.textContent('.dep-side')), 5000, 'no such node');
    })],
  ['dependencies: packages by themselves, or as it is chosen', () =>
    withPage(browser, {}, async (page) => {
      const asked = [];
      page.on('request', (r) => /graph\.json/.test(r.url()) &&
        asked.push(new URL(r.url()).searchParams.get('collapse')));
      await open(page, base, 'deps');
      equal(asked.pop(), 'auto', 'asked for');
      await page.click('button:text-is("Packages")');
      await until(() => asked.includes('1'), 5000, 'packages');
      await until(async () => await page.getAttribute(
        'button:text-is("Packages")', 'aria-pressed') === 'true', 5000,
      'pressed');
      await page.click('button:text-is("Packages")');
      await until(() => asked.includes('0'), 5000, 'each node');
    })]] : [];
}

export function depsTests(env) {
  return [...dependencies(env), ...compared(env), ...answersOf(env)];
}
