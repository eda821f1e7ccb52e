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
  assert.deepEqual(M.heat.inBand(g, { low: 2, high: 8 }), { n: 6, all: 9 });
  assert.deepEqual(M.heat.inBand(g, { low: 1, high: 2 }), { n: 3, all: 9 });
});

test('a band of an address is told with the borders that are counted', () => {
  const snap = (low, high) => M.heat.snap(M.heat.grid(ANSWER), { low, high });
  assert.deepEqual(snap(1, 3), { low: 1, high: 2 });
  assert.deepEqual(snap(1.5, 8), { low: 2, high: 8 });
  assert.deepEqual(snap(0.5, 100), { low: 0.5, high: 100 });
  for (const [low, high] of [[2.5, 3.5], [1, 1.5]])
    assert.equal(snap(low, high), null);
});

test('a band is told only above the profile of its waits', () => {
  const g = M.heat.grid(ANSWER), of = (type, reason) => M.latency.shownBand(g,
    { band: '1~2', type, reason }, M.latency.KINDS.read, M.format.seconds);
  assert.deepEqual(of('offcpu', 'disk'), { band: { low: 1, high: 2 },
    why: null });
  for (const [type, reason] of [['cpu', 'disk'], ['offcpu', ''],
    ['offcpu', 'lock'], ['', '']]) {
    assert.equal(of(type, reason).band, null);
    assert.match(of(type, reason).why, /not shown.*not of waits/);
  }
});

test('labels of time are distinct, round and few', () => {
  for (const [from, span, n] of [[1795451433, 40, 11], [1795451430, 10, 4],
    [1795451430, 1800, 11], [1795451430, 1e6, 11], [1795451430, 1e8, 11]]) {
    const { times, incr } = M.heat.ticks(from, from + span, n);
    assert.ok(times.length >= 1 && times.length <= n + 1, times.length);
    const said = times.map((t) => M.format.dateTime(t));
    assert.equal(new Set(said).size, said.length);
    assert.ok(times.every((t) => t >= from && t <= from + span &&
      (incr >= 3600 || t % incr === 0)));
  }
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
  for (const text of ['', '1', '2~1', 'x~1', '1~', '-1~1', '1~1e999'])
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

test('what is lost is told of what it is lost of', () => {
  const { read, runq } = M.latency.KINDS;
  const col = (reason, ...v) => ({ labels: { reason }, v });
  const cols = [col('sums full', 1, null, 2), col('end not seen', 4),
    col('run queue full', 500, 500), col('skipped', 10)];
  const of = (kind, list) => M.latency.lostText({ cols: list }, kind);
  assert.match(of(read, cols), /not measured: 17$/);
  assert.match(of(runq, cols), /not measured: 1,010$/);
  assert.equal(of(read, cols.slice(2, 3)), '');
});

const D = load('recorded-latency').recordedLatency;
const COLUMNS = ['time', 'p50', 'max', 'mean', 'count'];
const KEPT = { from: 100, until: 140, step: 10, series: 1, unit: 'seconds',
  columns: COLUMNS, edges: [1, 2, 4],
  cells: [[0, 0, 3], [1, 0, 2], [1, 1, 1], [3, 1, 7]],
  points: [[100, 1, 1, 1, 3], [110, 1, 3, 2, 3], [120, null, null, null, 0],
    [130, 3, 3, 3, 7]], whole: [100, 2, 3, 2.5, 13] };

test('recorded: counts add up at any step, and nothing is made up', () => {
  const two = D.heat(KEPT, { from: 100, until: 140, step: 20 });
  assert.deepEqual(two.cells, [[0, 0, 5], [0, 1, 1], [1, 1, 7]]);
  assert.deepEqual(two.points, [[100, null, null, null, 6],
    [120, null, null, null, 7]]);
  const all = D.heat(KEPT, { from: 100, until: 140, step: 40 });
  assert.deepEqual(all.points, [[100, 2, 3, 2.5, 13]]);
  const one = D.heat(KEPT, { from: 110, until: 120, step: 10 });
  assert.deepEqual([one.cells, one.points], [[[0, 0, 2], [0, 1, 1]],
    [[110, 1, 3, 2, 3]]]);
  assert.equal(D.heat({ from: 0, until: 9, step: 3, series: 0 }, {}).cells,
    undefined);
});

test('recorded: threads are means of the slots that are known', () => {
  const r = D.threads({ from: 0, until: 40, step: 10, pools: [{ labels: {},
    states: [{ state: 'disk', points: [[0, 1], [10, 3], [20, null],
      [30, null]] }] }] }, { from: 0, until: 40, step: 20 });
  assert.deepEqual(r.pools[0].states[0].points, [[0, 2], [20, null]]);
});

test('recorded: wall time is CPU time and time off CPU', () => {
  const P = load('unit', 'flame-tree', 'recorded-profiles').recordedProfiles;
  const of = (nodes, period) => ({ about: { unit: 'nanoseconds',
    kind: 'flow' }, slots: [{ period, nodes }, null] });
  const p = { slot: 10, from: 0, names: ['total', 'main', 'read'],
    kinds: '?uk', tree: [0, 0, 1, 1, 1, 2], of: {
      'cpu{service="a"}': of([1, 3], 10),
      'offcpu{service="a"}': of([1, 5, 1, 1, 60, 2]) } };
  const { f, memlens: m } = P.ask(p, { query: 'wall{service="a"}', from: 0,
    until: 20 });
  assert.equal(f.ticks, 95);
  assert.deepEqual(m.parts, { cpu: 30, offcpu: 65 });
  assert.deepEqual(m.unknown_levels, [[65, 0], [65, 5], [60, 60]]);
  assert.deepEqual(f.totalSamples, [3, 3, 0]);
  assert.deepEqual(P.partsOf(p, 'wall{service="b"}'), []);
});
