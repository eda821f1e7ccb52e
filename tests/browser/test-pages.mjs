/* Every page opens, live and from a file, wide and narrow, without errors. */
import { assert, audit, equal, until, withPage } from './harness.mjs';
import { load } from '../../frontend/tools/load.mjs';

const { LIST, IDS: TABS } = load('views').views;

/* A panel is done when it has rendered and nothing is under way. */
export async function loaded(page, tab) {
  await page.waitForSelector(`#panel-${tab}[data-loaded]:not([aria-busy])`,
    { state: 'attached' });
}

async function open(page, base, tab, more = '') {
  await page.goto(base + 'dashboard.html?v=1&tab=' + tab + more);
  await loaded(page, tab);
}

async function pbft(page, home) {
  await page.goto(home + 'pbft.html');
  await page.waitForFunction(() => Number(
    document.getElementById('pbft-time').value) > 0.2);
  for (let i = 0; i < 5; i++)
    await page.click('#pbft-next');
  equal(await page.locator('[data-progress=committed]').count(), 4,
    'replicas that committed');
  await page.click('[data-lane="1"]');
  await page.click('#pbft-next');
  await page.waitForFunction(() => /view change/.test(
    document.getElementById('pbft-note').textContent) ||
    document.getElementById('pbft-next').click());
  equal(await page.locator('[data-progress=committed]').count(), 0,
    'replicas that committed without a proposal');
}

function opens({ browser, base, files }) {
  const tests = [];
  for (const [where, home] of [['live', base], ['file', files]]) {
    for (const tab of TABS)
      tests.push([`${where}: tab ${tab} opens without errors`, () =>
        withPage(browser, { home }, (page) => open(page, home, tab))]);
    tests.push([`${where}: PBFT page plays and can be stepped`, () =>
      withPage(browser, { home }, (page) => pbft(page, home))]);
    tests.push([`${where}: landing page shows a flame graph`, () =>
      withPage(browser, { home }, async (page) => {
        await page.goto(home + 'index.html');
        await page.waitForFunction(() => /of CPU time|recorded/.test(
          document.getElementById('hero-caption').textContent));
        equal(await page.locator('.live-only:visible').count(),
          home === files ? 0 : 2, 'links that somebody answers');
      })]);
  }
  return tests;
}

/* Who is who is said however far the round is scrolled. */
async function namesInSight(page) {
  for (let i = 0; i < 4; i++)
    await page.click('#pbft-next');
  await until(() => page.$$eval('.pbft-name', (list) => list.every((n) => {
    const box = n.getBoundingClientRect();
    return box.left >= 0 && box.right <= innerWidth;
  })), 3000, 'the names of the replicas');
}

/* Wider than the window is what has to be scrolled sideways. */
function narrow({ browser, base }) {
  return [['index.html', null], ['pbft.html', null], ...TABS.map((t) => ['dashboard.html', t])]
    .map(([file, tab]) => [`360 px: ${tab || file} does not scroll sideways`,
      () => withPage(browser, { viewport: { width: 360, height: 740 } },
        async (page) => {
          await page.goto(base + file + (tab ? '?v=1&tab=' + tab : ''));
          if (tab)
            await loaded(page, tab);
          const width = await page.evaluate(() =>
            document.documentElement.scrollWidth);
          assert(width <= 360, 'the page is ' + width + ' px wide');
          if (file === 'pbft.html')
            await namesInSight(page);
        })]);
}

/* Paragraphs were shown as [object HTMLParagraphElement]. */
function about({ browser, base }) {
  return TABS.map((tab) => [`what tab ${tab} says about itself is text`, () =>
    withPage(browser, {}, async (page) => {
      await open(page, base, tab);
      equal(await page.evaluate(() => [...document.querySelectorAll(
        '.info-button[popovertarget]')].map((b) => {
        const pop = document.getElementById(b.getAttribute('popovertarget'));
        pop.showPopover();
        pop.dispatchEvent(new ToggleEvent('toggle', { newState: 'open' }));
        return pop;
      }).filter((pop) => !pop.querySelector('p, dl, ul, table') ||
        /\[object /.test(pop.textContent)).map((pop) =>
        pop.textContent).join()), '', 'what is no text');
    })]);
}

/* The button Demo was cut at 1,300 px beside a reason of health. */
function header({ browser, base }) {
  return [1440, 1300, 1100, 1000, 700].map((width) =>
    [`${width} px: the header's words give way to its buttons`, () =>
      withPage(browser, { viewport: { width, height: 400 } },
        async (page) => {
          await open(page, base, TABS[0]);
          equal(await page.evaluate(() => {
            document.getElementById('health').innerHTML =
              '<span class="pill-text">Degraded</span><span ' +
              'class="pill-more">' + 'a long reason '.repeat(9) + '</span>';
            const mode = document.getElementById('mode');
            return mode.scrollWidth - mode.clientWidth +
              document.documentElement.scrollWidth - innerWidth;
          }), 0, 'pixels that are cut');
        })]);
}

function themes({ browser, base }) {
  return [
    ['the theme follows the system', () => withPage(browser,
      { colorScheme: 'dark' }, async (page) => {
        await page.goto(base + 'dashboard.html');
        equal(await page.evaluate(() =>
          document.documentElement.dataset.theme), 'dark', 'theme');
      })],
    ['the theme toggle wins over the system and is kept', () => withPage(
      browser, { colorScheme: 'dark' }, async (page) => {
        await page.goto(base + 'dashboard.html');
        const back = () => page.evaluate(() =>
          getComputedStyle(document.documentElement).backgroundColor);
        const dark = await back();
        await page.click('#theme-button');
        assert(await back() !== dark, 'the background did not change');
        const light = await back();
        await page.reload();
        equal(await back(), light, 'background after a reload');
      })]
  ];
}

function keyboard({ browser, base }) {
  return [
    ['tabs answer to arrow keys and to back', () => withPage(browser, {},
      async (page) => {
        await open(page, base, 'memory');
        await page.focus('#tab-memory');
        await page.keyboard.press('ArrowRight');
        await page.waitForSelector('#panel-profiles:not([hidden])');
        assert(/tab=profiles/.test(page.url()), 'the address lacks the tab');
        await page.goBack();
        await page.waitForSelector('#panel-memory:not([hidden])');
      })],
    ['each view has its tab, its number and a line of help', () =>
      withPage(browser, {}, async (page) => {
        await open(page, base, TABS[0]);
        equal((await page.locator('[role=tab]').allTextContents()).join(),
          LIST.map((v) => v.title).join(), 'tabs');
        await page.click('#help-button');
        const help = await page.textContent('#help-keys');
        for (const [text] of LIST.flatMap((v) => [[v.title],
          ...v.help || []]))
          assert(help.includes(text), 'the help lacks ' + text);
        await page.click('#help-close');
        for (const [k, id] of TABS.entries()) {
          await page.keyboard.press(String(k + 1));
          await page.waitForSelector(`#panel-${id}:not([hidden])`);
        }
      })],
    ['every control has a name', () => withPage(browser, {},
      async (page) => {
        for (const tab of TABS) {
          await open(page, base, tab);
          const nameless = await page.$$eval('button, input, select, ' +
            '[role=application], [role=region]', (list) => list.filter((n) =>
            n.checkVisibility() && !(n.getAttribute('aria-label') ||
              n.textContent.trim() || n.labels && n.labels.length))
            .map((n) => n.outerHTML.slice(0, 120)));
          equal(nameless.join(' '), '', 'nameless controls of ' + tab);
        }
      })],
    ['the flame graph is walked by keys and announced', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, 'profiles');
        await page.focus('.flame-pane .flame-box');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await page.waitForFunction(() => /Total .*Self/.test(
          document.querySelector('.flame-detail').textContent));
        await page.keyboard.press('Enter');
        await page.waitForSelector('.flame-crumbs [aria-current]');
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
        await until(async () => await page.locator(
          '.flame-crumbs [aria-current]').count() === 0, 3000,
        'Escape did not zoom out');
      })]
  ];
}

/* The rules of WCAG that a program can check. */
function accessible({ browser, base }) {
  const places = [['index.html'], ['pbft.html'],
    ...TABS.map((t) => ['dashboard.html?v=1&tab=' + t, t]),
    ['dashboard.html?v=1&tab=cpu&view=sandwich', 'profiles'],
    ['dashboard.html?v=1&tab=cpu&view=compare', 'profiles']];
  return places.flatMap(([path, tab]) => ['light', 'dark'].map((theme) =>
    [`axe finds nothing: ${path}, ${theme}`, () => withPage(browser,
      { colorScheme: theme, reducedMotion: 'reduce' }, async (page) => {
        await page.goto(base + path);
        if (tab)
          await loaded(page, tab);
        /* What an answer replaces is gone from the page while it is looked
         * at. */
        await page.waitForLoadState('networkidle');
        equal((await audit(page)).join('; '), '', 'violations');
      })]));
}

/* Three processes of one rule, and one target whose process nobody knows. */
async function manyProcesses(page) {
  await page.route('**/api/v1/series?*', async (route) => {
    const url = new URL(route.request().url());
    const q = url.searchParams.get('query');
    const m = /^memlens_instance_(\w+)\{/.exec(q);
    if (!m && !/^leveldb/.test(q))
      return route.continue();
    if (m)
      url.searchParams.set('query', `namedprocess_namegroup_${m[1]}` +
        '{groupname="kv_service"' + (m[1] === 'memory_bytes'
        ? ',memtype="resident"}' : '}'));
    const answer = await (await fetch(url)).json();
    answer.series = (m ? [':1', ':2', ':3'] : ['h:9']).flatMap((instance) =>
      answer.series.map((s) => Object.assign({}, s, { labels:
        Object.assign({}, s.labels, { instance }) })));
    return route.fulfill({ json: answer });
  });
}

function instances({ browser, base, mock }) {
  return mock ? [['memory: each card has an instance with data of it', () =>
    withPage(browser, {}, async (page) => {
      const card = (title) => page.textContent(
        `.stat:has(.card-title:text-is("${title}"))`);
      const picker = page.locator('select[aria-label="Instance"]');
      await manyProcesses(page);
      await open(page, base, 'memory', '&service=kv_service');
      for (const title of ['Resident memory', 'Process reads',
        'Process writes'])
        assert(/sum of 3 processes · /.test(await card(title)),
          await card(title));
      assert(/h:9 · /.test(await card('Engine memory')),
        await card('Engine memory'));
      await picker.selectOption(':2');
      await until(async () => /:2 · highest/.test(await card(
        'Resident memory')), 5000, 'the chosen process');
      assert(/no data.*:2 · other instances have it/.test(await card(
        'Engine memory')), await card('Engine memory'));
      await picker.selectOption('by card');
      await until(async () => /sum of 3/.test(await card('Resident memory')),
        5000, 'the way back');
    })]] : [];
}

export function pageTests(env) {
  return [...opens(env), ...narrow(env), ...header(env), ...about(env),
    ...themes(env), ...keyboard(env), ...accessible(env), ...instances(env)];
}
