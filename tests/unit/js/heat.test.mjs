/* What heat maps say of cells, bands and ranges. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'time', 'request', 'heat', 'latency');
const ANSWER = { from: 100, until: 125, step: 10, edges: [1, 2, 4, 8],
  cells: [[0, 0, 3], [0, 2, 1], [2, 1, 5]],
  points: [[100, 4], [110, 0], [120, 5]] };

test('cells of a grid are those of the answer, and 0 beside them', () => {
  const g = M.heat.grid(ANSWER);
  assert.deepEqual([g.cols, g.rows, g.most], [3, 3, 5]);
  assert.deepEqual([0, 1, 2].map((col) => [0, 1, 2].map((row) =>
    g.at(col, row))), [[3, 0, 1], [0, 0, 0], [0, 5, 0]]);
});

test('an area has whole steps and bands, dragged either way', () => {
  const g = M.heat.grid(ANSWER);
  const want = { from: 110, until: 125, low: 2, high: 8 };
  assert.deepEqual(M.heat.area(g, { col: 1, row: 1 }, { col: 2, row: 2 }),
    want);
  assert.deepEqual(M.heat.area(g, { col: 2, row: 2 }, { col: 1, row: 1 }),
    want);
});

test('a band counts the rows that lie in it', () => {
  const g = M.heat.grid(ANSWER);
  assert.deepEqual(M.heat.inBand(g, 2, 8), { n: 6, all: 9 });
  assert.deepEqual(M.heat.inBand(g, 1, 3), { n: 3, all: 9 });
});

test('something is always seen, and the most is the darkest', () => {
  assert.equal(M.heat.shade(0, 50), 0);
  assert.ok(M.heat.shade(1, 50) >= 0.2);
  assert.equal(M.heat.shade(50, 50), 1);
  assert.equal(M.heat.shade(1, 1), 1);
});

test('bands of an address are two rising numbers, or none', () => {
  assert.deepEqual(M.latency.band('0.001~0.004'), { low: 0.001,
    high: 0.004 });
  for (const text of ['', '1', '2~1', 'x~1', '1~'])
    assert.equal(M.latency.band(text), null, text);
});

test('a range without an observation is 0 of them', () => {
  const columns = ['time', 'p50', 'max', 'mean', 'count'];
  const of = (points) => M.latency.summary({ columns, points },
    M.format.seconds, 'requests');
  assert.equal(of(undefined), '0 requests');
  assert.equal(of([[0, null, null, null, 0]]), '0 requests');
  assert.equal(of([[0, 0.001, 0.5, 0.002, 12]]),
    'p50 1 ms · max 500 ms · 12 requests');
});
