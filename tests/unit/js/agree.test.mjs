/*
 * The script inside a picture needs nothing beside itself, so it has its own
 * way to place frames, to count what a search finds and to walk by arrow keys.
 * The pages have theirs.  Here both are asked the same of trees made at random.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';
import { picture } from './svg-dom.mjs';

const M = load('flame-tree', 'flame-layout');
const T = M.flameTree, L = M.flameLayout;
const TREES = 60, NAMES = ['f', 'g', 'fg', 'h', 'kv::Get', 'read'];
const ARROWS = ['up', 'down', 'left', 'right'];

/* The same numbers in each run, another tree for each seed. */
function numbers(seed) {
  let s = seed * 2654435761 >>> 0;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor(s / 2 ** 32 * n);
  };
}

function grow(pick, level = 0) {
  const kids = Array.from({ length: level < 5 ? pick(4) : 0 }, () =>
    grow(pick, level + 1));
  const self = kids.length ? pick(30) : 1 + pick(30);
  return { name: level ? NAMES[pick(NAMES.length)] : 'total', level, kids,
    self, total: self + kids.reduce((sum, k) => sum + k.total, 0) };
}

/* Callers first, as pictures have frames; x is where each begins. */
function list(node, x = 0, into = []) {
  into.push(Object.assign(node, { x }));
  let at = x + node.self;
  for (const kid of node.kids) {
    list(kid, at, into);
    at += kid.total;
  }
  return into;
}

/* One tree as a picture and as the pages have it; frame i of the pages is
 * child of[i] of the picture. */
function both(seed) {
  const all = list(grow(numbers(seed))), names = ['total', ...NAMES];
  const levels = [], ends = [], of = [];
  for (const n of all) {
    const level = levels[n.level] ??= [];
    level.push(n.x - (ends[n.level] ?? 0), n.total, n.self,
      names.indexOf(n.name));
    ends[n.level] = n.x + n.total;
    (of[n.level] ??= []).push(all.indexOf(n));
  }
  return { f: T.decode({ flamebearer: { names, levels,
    numTicks: all[0].total } }), of: of.flat(),
  p: picture(all.map((n) => [n.name, n.total, n.level])) };
}

const frames = (p) => p.find('frames').children;
const numberIn = (g, name) => parseFloat(g.getAttribute(name));

function each(check) {
  let n = 0;
  for (let seed = 1; seed <= TREES; seed++) {
    const made = both(seed);
    n += made.f.n;
    check(made, seed);
  }
  assert.ok(n > 10 * TREES, 'trees of ' + n + ' frames in all');
}

test('a search finds the same part in the same frames', () => {
  each(({ f, p }, seed) => {
    for (const text of ['f', '^f$', 'f|g', 'G', '::', 'no']) {
      const { ids, ticks } = T.search(f, T.matcher('/' + text + '/'));
      const n = f.name.filter((name) => ids.has(name)).length;
      p.go('#s=' + encodeURIComponent(text) + '&case=1');
      assert.equal(p.find('matched').textContent, 'Matched: ' +
        (100 * ticks / f.ticks).toFixed(2) + '% in ' + n +
        (n === 1 ? ' frame' : ' frames'), seed + ' ' + text);
    }
  });
});

test('a part is laid out in the same places', () => {
  each(({ f, of, p }, seed) => {
    const zoom = Math.floor(f.n / 2);
    p.fire(frames(p)[of[zoom]], 'click');
    const drawn = p.find('zoomed')?.children ?? [];
    const at = new Map(drawn.map((g) => [g.frame, g]));
    const laid = L.lay(f, zoom, 1e6).rows.flat();
    assert.equal(laid.length, zoom ? drawn.length : f.n, seed);
    for (const { i, left, width, above } of zoom ? laid : []) {
      const g = at.get(of[i]), rect = g.children[1];
      assert.ok(Math.abs(numberIn(rect, 'x') - left / 1e4) < 1e-6, seed);
      assert.ok(Math.abs(numberIn(rect, 'width') - width / 1e4) < 1e-6, seed);
      assert.equal(g.classList.contains('above'), above, seed);
    }
  });
});

/* Of a part, too: no key leaves what is shown. */
test('arrow keys walk to the same frames', () => {
  each(({ f, of, p }, seed) => {
    const pick = numbers(seed + TREES);
    const zoom = seed % 2 ? pick(f.n) : 0;
    const on = of.map((k) => frames(p)[k]);
    p.fire(on[zoom], 'click');
    if (zoom === 0)
      on[0].focus();
    for (let k = 0, i = zoom; k < 40; k++) {
      const key = ARROWS[pick(4)];
      p.fire(p.document.activeElement, 'keydown',
        { key: 'Arrow' + key[0].toUpperCase() + key.slice(1) });
      i = L.step(f, i, key, zoom);
      assert.equal(p.document.activeElement.frame, of[i],
        `${seed}: ${key} in part ${zoom}`);
    }
  });
});
