/* Questions about graphs, against models that try every path. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const { graphWalk } = load('graph-walk');

const graphOf = (text) => {
  const edges = text.split(' ').filter(Boolean).map((e) => e.split('>'))
    .map(([from, to]) => ({ from, to, kind: 'needs' }));
  const ids = [...new Set(edges.flatMap((e) => [e.from, e.to]))];
  return { nodes: ids.map((id) => ({ id })), edges };
};

/* A reproducible graph of n nodes: which is the root, "0". */
function random(n, m, seed) {
  let x = seed;
  const next = (k) => {
    x = (x * 1103515245 + 12345) % 2147483648;
    return Math.floor(x / 65536) % k;
  };
  const text = [...Array(m)].map(() => next(n) + '>' + next(n)).join(' ');
  return graphOf(text + ' ' + [...Array(n - 1)].map((_, i) =>
    next(i + 1) + '>' + (i + 1)).join(' '));
}

/* Every path without a node twice, by trying. */
function allPaths(graph, from, to) {
  const found = [];
  const walk = (path) => {
    const last = path[path.length - 1];
    if (last === to)
      return found.push(path);
    for (const e of graph.edges)
      if (e.from === last && !path.includes(e.to) &&
        e.kind !== 'seen')
        walk([...path, e.to]);
    return 0;
  };
  walk([from]);
  return [...new Set(found.map((p) => p.join('\n')))].map((p) =>
    p.split('\n'));
}

test('why: all shortest paths', () => {
  const x = graphWalk.index(graphOf('a>b a>c b>d c>d d>e a>f f>g g>e'));
  const w = graphWalk.why(x, 'a', 'e');
  assert.equal(w.length, 3);
  assert.equal(w.count, 3);
  assert.deepEqual(w.some.map((p) => p.join('')).sort(),
    ['abde', 'acde', 'afge']);
  assert.deepEqual([...w.edges].sort(), ['a\nb', 'a\nc', 'a\nf', 'b\nd',
    'c\nd', 'd\ne', 'f\ng', 'g\ne']);
  assert.equal(graphWalk.why(x, 'e', 'a'), null);
  assert.equal(graphWalk.why(x, 'nobody', 'a'), null);
  assert.deepEqual(graphWalk.why(x, 'a', 'a').some, [['a']]);
});

test('why is what trying every path finds', () => {
  for (let seed = 1; seed < 30; seed++) {
    const g = random(9, 9, seed), x = graphWalk.index(g);
    for (const { id } of g.nodes) {
      const all = allPaths(g, '0', id);
      const w = graphWalk.why(x, '0', id);
      const least = Math.min(...all.map((p) => p.length));
      const best = all.filter((p) => p.length === least);
      assert.equal(w.length, least - 1);
      assert.equal(w.count, best.length);
      assert.deepEqual(new Set(w.some.map(String)), new Set(best.slice(0,
        w.some.length).map(String).length === best.length
        ? best.map(String) : w.some.map(String)));
      assert.deepEqual(w.nodes, new Set(best.flat()));
    }
  }
});

test('what only one needs is what no path around it reaches', () => {
  for (let seed = 1; seed < 30; seed++) {
    const g = random(9, 6, seed), x = graphWalk.index(g);
    for (const { id } of g.nodes) {
      const lost = g.nodes.map((n) => n.id).filter((other) => other !== id &&
        allPaths(g, '0', other).every((p) => p.includes(id)));
      assert.deepEqual(graphWalk.only(x, '0', id).sort(),
        id === '0' ? [] : lost.sort());
    }
  }
});

test('cycles are groups that reach each other', () => {
  for (let seed = 1; seed < 40; seed++) {
    const g = random(8, 8, seed), x = graphWalk.index(g);
    const ids = g.nodes.map((n) => n.id);
    const to = new Map(ids.map((a) => [a, new Set(ids.filter((b) =>
      a !== b && allPaths(g, a, b).length))]));
    const groups = [...new Set(ids.map((a) => [a, ...ids.filter((b) =>
      to.get(a).has(b) && to.get(b).has(a))].sort().join(' ')))]
      .filter((s) => s.includes(' ')).sort();
    assert.deepEqual(graphWalk.cycles(x).map((c) => c.join(' ')).sort(),
      groups);
  }
});

test('a chain of 20,000 is no recursion', () => {
  const g = graphOf([...Array(20000)].map((_, i) => i + '>' + (i + 1))
    .join(' '));
  assert.deepEqual(graphWalk.cycles(graphWalk.index(g)), []);
});

test('what was only seen is no reason', () => {
  const g = graphOf('a>b b>c');
  g.edges.push({ from: 'a', to: 'c', kind: 'seen' });
  assert.equal(graphWalk.why(graphWalk.index(g), 'a', 'c').length, 2);
});

test('two versions of a library, a crate, a package', () => {
  const versions = (nodes) => graphWalk.versions(nodes).map((list) =>
    list.map(([name]) => name));
  const names = ['libssl.so.1.1', 'libssl.so.3', 'libc.so.6', 'libcrypto.so',
    '/opt/libcrypto-3.0.so', 'prog', 'libicu.so.72', 'libicuuc.so.72'];
  assert.deepEqual(versions(names.map((id) => ({ id }))),
    [['libssl.so.1.1', 'libssl.so.3'], ['libcrypto.so',
      '/opt/libcrypto-3.0.so']]);
  assert.deepEqual(versions(['syn 1.0.109', 'serde 1.0.2', 'syn 2.0.4',
    "Rust's standard library"].map((id) => ({ id }))),
  [['syn 1.0.109', 'syn 2.0.4']]);
  const of = (id, p) => ({ id, package: p });
  assert.deepEqual(graphWalk.versions([of('a/x', 'a v0.1.0'),
    of('a/y', 'a v0.1.0'), of('b', 'b v1.2.3'), of('a/z', 'a v0.2.0')]),
  [[['a v0.1.0', 'a/x'], ['a v0.2.0', 'a/z']]]);
});

test('who costs at least a share, with the way there', () => {
  const g = graphOf('a>b b>c a>d');
  const cost = { a: 0, b: 0, c: 30, d: 5 };
  g.nodes.forEach((n) => { n.total = cost[n.id]; });
  const x = graphWalk.index(g), share = (n) => n.total / 100;
  assert.deepEqual(graphWalk.costly(g, x, 'a', share, 0.1),
    new Set(['a', 'b', 'c']));
  assert.deepEqual(graphWalk.costly(g, x, 'a', share, 0.05),
    new Set(['a', 'b', 'c', 'd']));
});

test('the way there is a shortest one, whatever costs', () => {
  for (let seed = 1; seed < 30; seed++) {
    const g = random(12, 10, seed), x = graphWalk.index(g);
    for (const { id } of g.nodes) {
      const kept = graphWalk.costly(g, x, '0', (n) => (n.id === id ? 1 : 0),
        0.5);
      const least = graphWalk.why(x, '0', id).length + 1;
      assert.equal(kept.size, least);
      assert.ok(allPaths(g, '0', id).some((p) => p.length === least &&
        p.every((a) => kept.has(a))));
    }
  }
});
