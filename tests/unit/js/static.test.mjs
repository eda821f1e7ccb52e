/* What the pages promise without being opened: CSP, files, contrast. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { SCRIPTS, fileOf, load } from '../../../frontend/tools/load.mjs';

const dir = new URL('../../../frontend/', import.meta.url);
const read = (name) => readFileSync(new URL(name, dir), 'utf8');
const list = (sub, ext) => readdirSync(new URL(sub, dir))
  .filter((n) => n.endsWith(ext)).map((n) => sub + n);
const PAGES = list('./', '.html').map((n) => n.slice(2));
/* What pictures and pages of the worker carry in themselves. */
const SCRIPT = [...SCRIPTS.values()].map((path) => 'js/' + path);
const FORMAT = '../fcgi/format/';
const EMBEDDED = [FORMAT + 'flame/flamesvg.js', FORMAT + 'flame/flamesvg.css',
  FORMAT + 'out/html.css'];
const M = load('colour');
const V = load('views', 'time', 'url-state');

test('pages have no inline script, style or handler', () => {
  for (const page of PAGES) {
    const html = read(page);
    assert.ok(!/<script(?![^>]*\ssrc=)/.test(html), page + ': script');
    assert.ok(!/<style|\sstyle=/.test(html), page + ': style');
    assert.ok(!/\son[a-z]+\s*=/.test(html), page + ': handler');
  }
});

test('nothing is asked of another host', () => {
  const own = /http:\/\/www\.w3\.org\//;
  for (const name of [...PAGES, ...list('css/', '.css'), ...SCRIPT, ...EMBEDDED])
    for (const [url] of read(name).matchAll(/(?:https?:)?\/\/[a-z][\w.-]+\.\w+/g))
      assert.ok(own.test(url + '/') || !url.startsWith('http'),
        name + ': ' + url);
});

/* The build leaves the comment at the beginning out. */
test('what is embedded ends nothing that it stands in', () => {
  for (const name of EMBEDDED) {
    const [head, ...rest] = read(name).split('\n */\n');
    const text = rest.join('\n */\n');
    assert.ok(head.startsWith('/*\n * ') && text.length > 500, name);
    assert.ok(!/\]\]>|<\//.test(text), name);
    assert.ok(name.endsWith('.js') || !/[<&]/.test(text), name);
    assert.ok(/^[\n -~]*\n$/.test(text), name + ': plain lines of ASCII');
  }
});

test('every file that a page names is there, relative to it', () => {
  for (const page of PAGES)
    for (const [, url] of read(page).matchAll(/(?:src|href)="([^"#?]+)/g)) {
      assert.ok(!url.startsWith('/'), page + ': absolute ' + url);
      if (!/^(lib|api)\/|^metrics$/.test(url))
        assert.ok(existsSync(new URL(url, dir)), page + ': ' + url);
    }
});

test('every script is used by a page', () => {
  const used = new Set(PAGES.flatMap((page) =>
    [...read(page).matchAll(/src="(js\/[^"]+)"/g)].map((m) => m[1])));
  assert.deepEqual(SCRIPT.filter((n) => !used.has(n)), []);
});

/*
 * The rooms of js/, a folder each, and whose members each may use: what stands
 * above it, and not all of that.
 */
const ROOMS = {
  /* numbers, times, colours and elements */
  base: [],
  /* what is asked, and what answers mean */
  answers: ['base'],
  /* who answers: the API or the recording of the demo */
  data: ['base', 'answers'],
  /* what the page shows: view, service, range */
  view: ['base', 'answers', 'data'],
  /* values and lines over time, in cards */
  charts: ['base', 'data'],
  /* the card of a profile */
  flame: ['base', 'answers', 'data', 'view', 'charts'],
  /* a view of the dashboard, and its parts */
  tabs: ['base', 'answers', 'data', 'view', 'charts', 'flame'],
  /* a page, and what is around its views */
  pages: ['base', 'answers', 'data', 'view', 'charts', 'flame']
};

test('scripts use those of their room and of rooms above it', () => {
  const room = (path) => path.split('/')[1], made = {}, used = new Set();
  const code = SCRIPT.map((path) =>
    [path, read(path).replace(/\/\*[^]*?\*\//g, '')]);
  for (const [path, text] of code)
    for (const [, name] of text.matchAll(/^ {2}ns\.(\w+) = /gm))
      made[name] = path;
  assert.ok(Object.keys(made).length > 50);
  for (const [path, text] of code)
    for (const [, name] of text.matchAll(/\bns\.(\w+)/g)) {
      const arrow = `${room(path)} uses ${room(made[name] || path)}`;
      assert.ok(made[name] || path.endsWith('data/snapshot.js'),
        `${path}: who is ${name}?`);
      used.add(arrow);
    }
  for (const name of Object.keys(ROOMS))
    used.delete(`${name} uses ${name}`);
  assert.deepEqual([...used].sort(), Object.entries(ROOMS).flatMap(([a, list]) =>
    list.map((b) => `${a} uses ${b}`)).sort());
});

test('pages load each script once, after those that it may use', () => {
  const order = Object.keys(ROOMS);
  for (const page of PAGES) {
    const paths = [...read(page).matchAll(/defer src="js\/(.*)"/g)]
      .map((m) => m[1]);
    const rooms = paths.map((p) => order.indexOf(p.split('/')[0]));
    assert.deepEqual(rooms, rooms.toSorted((a, b) => a - b), page);
    assert.equal(new Set(paths).size, paths.length, page);
  }
});

test('a view is a row and its file; links name views', () => {
  const page = read('dashboard.html');
  for (const { id, module, series = [], keys, asks } of V.views.LIST) {
    for (const name of [module, ...series])
      assert.ok(page.includes(`js/${SCRIPTS.get(fileOf(name))}"`),
        id + ': ' + name);
    for (const key of asks.filter((k) => typeof k === 'string'))
      assert.ok(key in keys || key in V.urlState.defaults(), id + ': ' + key);
  }
  for (const [, id] of PAGES.flatMap((p) =>
    [...read(p).matchAll(/[?;]tab=(\w+)/g)]))
    assert.ok(V.views.of(id), id);
});

/* Who adds a view touches no other place. */
test('the names of views stand in their table alone', () => {
  const titles = V.views.LIST.map((v) => v.title);
  for (const name of ['dashboard', 'url-state', 'range-bar', 'view'])
    for (const id of [...V.views.IDS, ...titles])
      assert.ok(!read('js/' + SCRIPTS.get(name)).includes(`'${id}'`),
        name + ' knows ' + id);
  for (const title of titles)
    assert.ok(!read('dashboard.html').includes('>' + title + '<'), title);
});

/* Tokens of a theme, with references followed. */
function tokens(theme) {
  const css = read('css/tokens.css');
  const [light, dark] = css.split(':root[data-theme="dark"]');
  const all = new Map();
  for (const part of theme === 'dark' ? [light, dark] : [light])
    for (const [, k, v] of part.matchAll(/(--[\w-]+):\s*([^;]+);/g))
      all.set(k, v.trim());
  return (name) => {
    let v = all.get(name);
    while (/^var\(/.test(v))
      v = all.get(v.slice(4, -1));
    return v;
  };
}

/* text, what it stands on, least contrast (WCAG AA: 4.5, graphics 3) */
const PAIRS = [
  ...['--text', '--text-soft', '--text-muted', '--accent', '--warn', '--bad',
    '--ok'].map((t) => [t, '--surface', 4.5]),
  ...['--text', '--text-soft', '--text-muted'].map((t) => [t, '--bg', 4.5]),
  ['--text', '--warn-soft', 4.5], ['--text', '--bad-soft', 4.5],
  ['--accent-strong', '--accent-soft', 4.5], ['--on-accent', '--accent', 4.5],
  ['--text', '--surface-hover', 4.5], ['--chart-axis', '--surface', 4.5],
  ['--text-muted', '--flame-faded', 4.5], ['--text-muted', '--accent-soft',
    4.5],
  ['--term-text', '--term-bg', 4.5], ['--term-dim', '--term-bg', 4.5],
  ['--term-error', '--term-bg', 4.5], ['--term-warn', '--term-bg', 4.5],
  ...[1, 2, 3, 4, 5, 'mute'].map((k) => ['--series-' + k, '--surface', 3]),
  ...['on-cpu', 'run-queue', 'lock', 'condition', 'disk', 'network', 'pipe',
    'fault', 'other', 'timer', 'poll'].map((k) => ['--state-' + k, '--surface',
    3])
];

for (const theme of ['light', 'dark'])
  test('contrast in the ' + theme + ' theme', () => {
    const token = tokens(theme);
    for (const [fore, back, least] of PAIRS) {
      const c = M.colour.contrast(token(fore), token(back));
      assert.ok(c >= least, `${fore} on ${back}: ${c.toFixed(2)}`);
    }
  });

test('a total over the range takes the step of what it sums', () => {
  const text = read('js/tabs/storage.js');
  const of = [...text.matchAll(
    /needs: \['(\w+)'\][^{}]*?S\.total\(col\) \* r\.(\w+)\.step/g)];
  assert.deepEqual(of.map((m) => m[1]), ['read', 'write']);
  for (const [, summed, taken] of of) assert.equal(taken, summed);
});
