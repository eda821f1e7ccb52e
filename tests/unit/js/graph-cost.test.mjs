/* What nodes cost, of one profile and of two, against plain arithmetic. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const { graphCost: C } = load('format', 'unit', 'time', 'graph-cost');

const side = (total, samples) => ({ total, samples, slots: total === null
  ? 0 : 1, unit: 'nanoseconds' });
const one = (nodes, total = 1000, samples = 1000) => ({ nodes,
  profile: side(total, samples) });
const two = (nodes, a, b) => ({ nodes, profile: a, profile_b: b });

test('shares are of each side\u2019s own total', () => {
  const n = { self: 100, total: 250, self_b: 300, total_b: 300 };
  assert.deepEqual(C.shares(n, 'total', one([n])), [0.25]);
  const d = two([n], side(1000, 1000), side(2000, 500));
  assert.deepEqual(C.shares(n, 'total', d), [0.25, 0.15]);
  assert.equal(C.moved(n, 'total', d), 0.15 - 0.25);
  assert.equal(C.change(n, 'total', d), (0.15 - 0.25) / 0.25);
  assert.equal(C.most(n, 'total', d), 0.25);
  assert.equal(C.text(n, one([n])), '25 % (self 10 %)');
  assert.equal(C.text(n, d), '25 % \u2192 15 % (\u221210.0 pp)');
});

test('no data is not 0', () => {
  const n = { self: 1, total: 2, self_b: null, total_b: null };
  const d = two([n], side(10, 10), { total: 0, samples: null, slots: 0,
    unit: '' });
  assert.deepEqual(C.amounts(n, 'self', d), [1, null]);
  assert.deepEqual(C.shares(n, 'self', d), [0.1, null]);
  assert.equal(C.change(n, 'self', d), null);
  assert.equal(C.moved(n, 'self', d), null);
  assert.equal(C.text(n, d), '20 % \u2192 no data');
  assert.equal(C.values(n, 'self', d)[1], 'no data');
  assert.equal(C.text(n, { nodes: [n] }), '');
  assert.equal(C.hasCost({ nodes: [n] }), false);
  assert.equal(C.hasCost(two([n], side(0, 0), side(0, 0))), false);
});

test('what came is 1, what went \u22121, what stayed 0', () => {
  const d = two([], side(10, 10), side(20, 20));
  const of = (a, b) => C.change({ total: a, total_b: b }, 'total', d);
  assert.deepEqual([of(0, 5), of(5, 0), of(5, 10), of(0, 0)], [1, -1, 0, 0]);
});

test('few samples make no statement', () => {
  const d = two([], side(1000, 500), side(1000, 500));
  const few = (a, b) => C.isFew({ total: a, total_b: b }, 'total', d);
  assert.equal(few(99, 99), true); /* 49.5 and 49.5 samples */
  assert.equal(few(100, 100), false);
  const bytes = two([], side(1000, null), side(1000, null));
  assert.equal(C.isFew({ total: 1, total_b: 1 }, 'total', bytes), false);
});

test('most first; of two what moved most', () => {
  const a = { id: 'a', self: 500, self_b: 500 };
  const b = { id: 'b', self: 100, self_b: 300 };
  const c = { id: 'c', self: 0, self_b: 0 };
  assert.deepEqual(C.ranked(one([c, b, a])).map((n) => n.id), ['a', 'b']);
  assert.deepEqual(C.ranked(two([a, b, c], side(1000, 1), side(1000, 1)))
    .map((n) => n.id), ['b']);
});

test('lists are of the side that is shown', () => {
  const rows = { rows: [1], rows_b: [2] };
  assert.deepEqual(C.list(rows, 'rows', one([])), [1]);
  assert.deepEqual(C.list(rows, 'rows', two([], side(1, 1), side(1, 1))),
    [2]);
  assert.deepEqual(C.list(rows, 'rows', { nodes: [] }), []);
});
