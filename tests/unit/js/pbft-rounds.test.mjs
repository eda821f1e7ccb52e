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
function of(series, phases = [], lost = []) {
  return R.replicas({ step: STEP, until: UNTIL, series },
    { columns: COLUMNS, series: phases }, { series: lost });
}
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
