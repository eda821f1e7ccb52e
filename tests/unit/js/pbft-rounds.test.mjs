/* What is said of real replicas: who proposes, lags, is silent or gone. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const R = load('pbft-rounds').pbftRounds;
const N = 12, STEP = 10, UNTIL = 1000 + N * STEP;
const COLUMNS = ['time', 'p50', 'p99', 'count'];

/* A replica whose states have increased by f(i) in step i. */
function states(instance, f) {
  return R.STATES.map((state) => ({ labels: { service: 'kv', instance, state },
    points: Array.from({ length: N }, (_, i) => [1000 + i * STEP,
      f(i, state)]) }));
}
function of(series, phases = [], lost = [], executed = []) {
  return R.replicas({ step: STEP, until: UNTIL, series },
    { columns: COLUMNS, series: phases }, { series: lost },
    { series: executed });
}
/* How many a replica has executed since it is watched. */
const all = (instance, n, more = {}) => ({ labels: Object.assign({
  service: 'kv', instance, state: 'execute' }, more),
points: [[1000, n], [1060, null]] });
const busy = (i, state) => (state === 'request' ? 0 : 20);
const levels = (list) => list.map((r) => r.verdict.level);

test('the primary is who has requests, and replicas stand by number', () => {
  const list = of([...states(':10002', busy), ...states(':9001', () => 20)]);
  assert.deepEqual(list.map((r) => r.instance), [':9001', ':10002']);
  assert.deepEqual(list.map((r) => r.states.request), [240, 0]);
  assert.deepEqual(levels(list), ['ok', 'ok']);
});

test('one that agrees and never executes is told, with its lag', () => {
  const list = of([...states(':1', busy), ...states(':2', (i, s) =>
    (s === 'execute' ? 0 : busy(i, s)))]);
  assert.deepEqual(levels(list), ['ok', 'stuck']);
  assert.deepEqual(list.map((r) => r.behind), [0, 240]);
});

test('a lag of more than a twentieth is one', () => {
  const list = of([...states(':1', busy), ...states(':2', (i, s) =>
    (s === 'execute' ? 18 : busy(i, s))), ...states(':3', (i, s) =>
    (s === 'execute' && i === 11 ? 19 : busy(i, s)))]);
  assert.deepEqual(levels(list), ['ok', 'behind', 'ok']);
});

/* What it missed lay before the ten minutes that are shown. */
test('one that began anew stays behind until it has caught up', () => {
  const both = [...states(':1', busy), ...states(':2', busy)];
  assert.deepEqual(levels(of(both)), ['ok', 'ok']);
  const list = of(both, [], [], [all(':1', 90000), all(':2', 70000)]);
  assert.deepEqual(levels(list), ['ok', 'behind']);
  assert.deepEqual(list.map((r) => r.behind), [0, 20000]);
  /* the whole cluster began anew, one a little later */
  assert.deepEqual(levels(of(both, [], [], [all(':1', 300),
    all(':2', 295)])), ['ok', 'ok']);
  /* the one that was first is gone, and lags as it stands */
  const dead = of([...states(':1', (i, s) => (i < 2 ? busy(i, s) : null)),
    ...states(':2', busy)], [], [], [all(':1', 90000), all(':2', 70000)]);
  assert.deepEqual(dead.map((r) => [r.verdict.level, r.behind]),
    [['gone', 0], ['ok', 0]]);
});

test('one that executes nothing since it is back is told at once', () => {
  const list = of([...states(':1', busy), ...states(':2', (i, s) =>
    (s === 'execute' && i > 4 ? 0 : busy(i, s)))]);
  assert.deepEqual(levels(list), ['ok', 'stuck']);
  assert.equal(list[1].verdict.since, 1050);
});

test('clusters of one service are apart where each has its primary', () => {
  const cluster = (id, list) => list.map((s) => Object.assign({}, s, {
    labels: Object.assign({ cluster: id }, s.labels) }));
  const first = () => 20, slow = (i, s) => (s === 'request' ? 0 : 2);
  const two = (a, b) => [...cluster(a, [...states(':1', first),
    ...states(':2', busy)]), ...cluster(b, [...states(':3', (i, s) =>
    (s === 'request' ? 2 : slow(i, s))), ...states(':4', slow)])];
  assert.deepEqual(levels(of(two('a', 'b'))), ['ok', 'ok', 'ok', 'ok']);
  assert.deepEqual(of(two('a', 'b')).map((r) => r.behind), [0, 0, 0, 0]);
  const same = of(two('a', 'a'));
  assert.deepEqual(levels(same), ['ok', 'ok', 'ok', 'ok']);
  assert.deepEqual(same.map((r) => r.behind), [null, null, null, null],
    'nobody knows of which cluster they are');
  /* a change of views is no other cluster */
  const change = [...cluster('a', states(':1', (i, s) => (s === 'request' &&
    i > 6 ? 0 : 20))), ...cluster('b', states(':2', (i, s) =>
    (s === 'request' && i < 6 ? 0 : 2)))];
  assert.deepEqual(levels(of(change)), ['ok', 'behind']);
});

test('silent is not gone, and neither is what never was', () => {
  const list = of([...states(':1', busy),
    ...states(':2', (i, s) => (i < 6 ? busy(i, s) : 0)),
    ...states(':3', (i, s) => (i < 6 ? busy(i, s) : null)),
    ...states(':4', () => 0)]);
  assert.deepEqual(levels(list), ['ok', 'silent', 'gone', 'silent']);
  assert.deepEqual(list.map((r) => r.verdict.since), [null, 1060, 1060, null]);
});

test('phases without a value have none, and losses are their own', () => {
  const phase = (name, count) => ({ labels: { service: 'kv', instance: ':1',
    phase: name }, points: [[1000, count ? 0.01 : null, count ? 0.05 : null,
    count]] });
  const [r] = of(states(':1', busy), [phase('prepare', 7),
    phase('commit', 0)], [{ labels: { service: 'kv', instance: ':1' },
    points: [[1000, 3]] }, { labels: {}, points: [[1000, 9]] }]);
  assert.deepEqual(r.phases, { prepare: { p50: 0.01, p99: 0.05, count: 7 } });
  assert.equal(r.lost, 3);
});

test('rounds a second are those of the replica that is first', () => {
  const col = R.rate({ step: STEP, series: [...states(':1', busy),
    ...states(':2', (i) => (i === 3 ? null : 5))] });
  assert.deepEqual([...new Set(col.v)], [2]);
  assert.equal(col.t.length, N);
});
