/* Which range a page shows: that of its address, and what it says where it
 * cannot. */
import { assert, equal, until, withPage } from './harness.mjs';
import { loaded } from './test-pages.mjs';

const T = Math.floor(Date.now() / 10000) * 10 - 1200;

function requests(page) {
  const seen = [];
  page.on('request', (r) => {
    const url = new URL(r.url());
    seen.push([url.pathname.replace(/.*\//, ''), url.searchParams]);
  });
  return (name, ...keys) => seen.filter(([n]) => n === name)
    .map(([, q]) => keys.map((k) => q.get(k)).join(' '));
}

async function open(page, home, more) {
  await page.goto(home + 'dashboard.html?v=1&' + more);
  await loaded(page, /tab=(\w+)/.exec(more)[1]);
}

const note = (page) => page.textContent('.range-note:visible');

/* What happened is a stroke on every chart, words beside the cursor, and a
 * list in which a note can be left. */
function marks({ browser, base }) {
  return [['range: what happened is marked on charts, listed, and added to',
    () => withPage(browser, {}, async (page) => {
      await open(page, base, 'tab=memory&service=kv_service&from=now-15m');
      const button = page.getByRole('button', { name: '2 marks' });
      await button.waitFor();
      const chart = page.locator('.chart .u-over').first();
      const box = await chart.boundingBox();
      const said = () => page.locator('.legend-mark').first().textContent();
      const drawn = (...of) => page.evaluate(([span, data]) =>
        JSON.stringify(MemLens.chart.drawn({ span }, data)), of);
      equal(await drawn([0, 20], [[0, 10], [1, 2]]), '[[0,10,20],[1,2,2]]',
        'the newest step, to its end');
      equal(await drawn([0, 15], [[0, 10], [1, null]]),
        '[[0,10,15],[1,null,null]]', 'what is not known');
      await chart.scrollIntoViewIfNeeded();
      await chart.hover({ position: { x: box.width * (0.5 - 60 / 900),
        y: 20 } });
      await until(async () => /kv_service \(pid 2210\) began/.test(
        await said()), 5000, 'the mark under the cursor');
      await chart.hover({ position: { x: 4, y: 20 } });
      equal(await said(), '', 'beside it');
      assert(/ 2 marks\.$/.test(await page.locator('.chart[aria-label*=mean]')
        .first().getAttribute('aria-label')), 'told to those who hear');
      await button.click();
      assert(/kv_service: kv_service \(pid 2209\) ended/.test(
        await page.textContent('.marks-list')), 'the list');
      await page.fill('.mark-form input', 'cache doubled');
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: '3 marks' }).waitFor();
    })]];
}

function live({ browser, base, mock }) {
  const tests = [
    ['range: a time off the grid is asked for as it is', () => withPage(
      browser, {}, async (page) => {
        const asked = requests(page);
        await open(page, base, `tab=profiles&from=${T + 5}.5&until=${T + 15}`);
        equal(asked('flamegraph.json', 'from', 'until')[0],
          `${T + 5}.5 ${T + 15}`, 'the profile');
        equal(asked('series', 'from', 'until')[0], `${T} ${T + 20}`,
          'the slots of its series');
        const said = await page.textContent('.range-now');
        assert(/:\d5\.5 – /.test(said) && /9.5 s .*in whole slots/.test(said),
          said);
        equal(await page.locator('.range-note:visible').count(), 0, 'notes');
      })],
    ['range: an address in RFC 3339 is understood', () => withPage(browser,
      {}, async (page) => {
        const asked = requests(page), at = (t) => new Date(t * 1000)
          .toISOString();
        await open(page, base, `tab=profiles&from=${at(T)}&until=${at(T + 30)}`);
        equal(asked('flamegraph.json', 'from', 'until')[0],
          `${T} ${T + 30}`, 'the profile');
      })],
    ['range: an address that is not understood is told', () => withPage(
      browser, {}, async (page) => {
        await open(page, base, `tab=profiles&from=-100&until=${T}&view=none`);
        const said = await note(page);
        assert(/“-100” \(from\).*last hour.*“none” \(view\)/.test(said),
          said);
        await page.click('.segments [data-value="now-15m"]');
        await until(async () => !/last hour/.test(await note(page)), 5000,
          'it is said although another range was chosen');
      })]];
  return mock ? tests.concat(oneRun({ browser, base }),
    marks({ browser, base })) : tests;
}

/* As A it was exact, as B it went down to tens of seconds. */
function oneRun({ browser, base }) {
  const run = { name: 'odd', from: T + 6, until: T + 96 };
  const choose = async (page, name) => {
    await page.click(`#panel-runs .ab-button:has(.ab-name:text-is("${name}"))`);
    await page.click('.popover:popover-open .ab-item:has-text("odd")');
    await loaded(page, 'runs');
  };
  return [['range: a run is the same range as A and as B', () => withPage(
    browser, {}, async (page) => {
      const asked = requests(page);
      await page.route('**/api/v1/runs', (route) => route.fulfill({
        json: { runs: [run] } }));
      await open(page, base, 'tab=runs');
      await choose(page, 'A');
      await choose(page, 'B');
      await until(() => asked('compare.json', 'from', 'until', 'from-b',
        'until-b').pop() === [run.from, run.until, run.from, run.until]
        .join(' '), 5000, 'A and B are one range');
      equal(await page.locator('#panel-runs .ab-range:has-text("odd · ")')
        .count(), 2, 'sides that have its name');
    })]];
}

/* The bundled recording, or whichever there is. */
function demo({ browser, files }) {
  const recorded = async (page) => page.evaluate(async () => {
    const { from, until: end } = await window.MemLens.recording.load();
    return { from, until: end };
  });
  const at = async (page, f) => {
    await open(page, files, 'tab=profiles');
    const more = f(await recorded(page));
    await open(page, files, 'tab=profiles&mode=offline&' + more);
  };
  return [
    ['demo: a range outside of the recording has no data', () => withPage(
      browser, {}, async (page) => {
        await at(page, ({ until: end }) => `from=${end + 1000}&until=${end +
          2000}`);
        const said = await note(page);
        assert(/The demo was recorded .*nothing of the range/.test(said),
          said);
        const main = await page.textContent('#panel-profiles');
        assert(/No data: nothing was recorded/.test(main) &&
          !/of CPU time ·/.test(main), main);
        assert(/no process of \S+ was measured in this range/.test(main),
          'that no process was measured is not said');
        const shown = await page.textContent('.range-now');
        assert(shown.startsWith(await page.textContent(
          '#panel-profiles .flame-facts')), 'another range than ' + shown);
        await page.click('.range-note button');
        await until(async () => /of CPU time/.test(await page.textContent(
          '#panel-profiles .flame-facts')), 5000, 'the recording');
      })],
    ['demo: A and B are whole slots alike, and it says so', () => withPage(
      browser, {}, async (page) => {
        let odd;
        await at(page, ({ from }) => (odd = { from: from + 13,
          until: from + 74 }) && 'view=compare&normalise=time&from=' +
          `${odd.from}&until=${odd.until}&afrom=${odd.from}&auntil=` +
          odd.until);
        const texts = await page.$$eval('#panel-profiles .ab-range', (list) =>
          list.map((n) => n.textContent));
        equal(texts[0], texts[1], 'A and B');
        const said = await note(page);
        assert(/in slots of 10 s: shown are those/.test(said), said);
        assert(said.includes(texts[0]), said + ' and ' + texts[0]);
        const words = await page.textContent('.compare-words');
        assert(/70 s of A, 70 s of B/.test(words), words);
      })]];
}

export function rangeTests(env) {
  return [...live(env), ...demo(env)];
}
