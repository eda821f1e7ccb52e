/* What is said of real replicas: who proposes, lags, is silent or gone. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const R = load('format', 'series', 'pbft-rounds').pbftRounds;
const N = 12, STEP = 10, UNTIL = 1000 + N * STEP;
const COLUMNS = ['time', 'p50', 'p99', 'count'];

/* A replica whose states have increased by f(i) in step i. */
function states(instance, f, n = N) {
  return R.STATES.map((state) => ({ labels: { service: 'kv', instance, state },
    points: Array.from({ length: n }, (_, i) => [1000 + i * STEP,
      f(i, state)]) }));
}
function all(series, phases = [], lost = [], until = UNTIL) {
  return R.all({ step: STEP, until, series },
    { columns: COLUMNS, series: phases }, { series: lost });
}
const of = (...args) => all(...args).list;
/* Of an hour: v(i), the same of all states, but that `first` proposes. */
const HOUR = 360;
const hour = (list) => of(list.flatMap(([instance, v, first]) =>
  states(instance, (i, state) => (state !== 'request' || first ||
    v(i) === null ? v(i) : 0), HOUR)), [], [], 1000 + HOUR * STEP);
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
  assert.deepEqual(list.map((r) => r.missed), [0, 220],
    'but those of the step in which both are first seen');
});

test('one that executes less than nine tenths is behind', () => {
  const list = of([...states(':1', busy), ...states(':2', (i, s) =>
    (s === 'execute' ? 17 : busy(i, s))), ...states(':3', (i, s) =>
    (s === 'execute' && i === 11 ? 19 : busy(i, s)))]);
  assert.deepEqual(levels(list), ['ok', 'behind', 'ok']);
});

/* Counts begin with a process or the daemon: they are not compared. */
test('a stopped one has missed what others execute since they began', () => {
  const back = (i) => (i < 40 ? 94 : i < 60 ? null : 94);
  const list = hour([[':1', back, true], [':2', back], [':3', back],
    [':4', (i) => (i < 60 ? 94 : 0)]]);
  assert.deepEqual(levels(list), ['missed', 'missed', 'missed', 'silent']);
  /* 20 steps of the fourth alone, then 300 without it */
  assert.deepEqual(list.map((r) => r.missed), [1880, 1880, 1880, 28200]);
  assert.equal(list[3].verdict.missed, 28200);
  assert.match(R.words(list[3].verdict, () => 'then'),
    /^silent since then, 28,200 rounds without it$/);
  assert.equal(R.words(list[0].verdict), 'executes, missed 1,880 in the ' +
    'last hour');
  for (const r of list)
    assert.equal(r.states.execute + r.missed, HOUR * 94, 'they add up');
});

test('one that is begun later has missed nothing before', () => {
  const list = hour([[':1', () => 94, true], [':2', (i) => (i < 3 ? null
    : i === 3 ? 10 : 94)]]);
  assert.deepEqual(levels(list), ['ok', 'ok']);
  assert.deepEqual(list.map((r) => r.missed), [0, 0]);
});

test('processes that drift apart by half a percent all execute', () => {
  const pace = (k) => (i) => Math.floor((i + 1) * k) - Math.floor(i * k);
  for (const n of [40, 100, 173, 360]) {
    const list = of([94, 94.5, 94.2, 94.3].flatMap((k, j) =>
      states(':' + j, (i, s) => (s === 'request' && j ? 0 : pace(k)(i)), n)),
    [], [], 1000 + n * STEP);
    assert.deepEqual(levels(list), ['ok', 'ok', 'ok', 'ok']);
    assert.ok(list.every((r) => r.missed >= 0 && r.missed <=
      0.006 * 94 * n + 1), list.map((r) => r.missed).join());
    assert.equal(list[1].missed, 0, 'and who is first has missed nothing');
  }
});

test('what is caught up was not missed, neither by the others', () => {
  const list = hour([[':1', () => 94, true], [':2', (i) => (i < 100 ||
    i > 200 ? 94 : i < 200 ? 0 : 94 * 101)]]);
  assert.deepEqual(list.map((r) => [r.verdict.level, r.missed]),
    [['ok', 0], ['ok', 0]]);
});

test('one that began anew has missed what it has, and is not behind', () => {
  const f = (n) => (i) => (i >= n && i < n + 30 ? null
    : i === n - 1 || i === n + 30 ? 20 : 94); /* a part of that step */
  const at = (n) => hour([[':1', () => 94, true], [':2', f(n)]])[1];
  assert.deepEqual([at(325).verdict.level, at(325).missed],
    ['missed', 2968]);
  assert.equal(at(329).verdict.level, 'missed');
  assert.equal(at(300).verdict.level, 'missed');
  assert.equal(at(340).verdict.level, 'gone');
  assert.match(R.words(at(340).verdict, () => 'then'),
    /^not seen since then, 1,880 rounds without it$/);
});

test('a sentence for each cluster, and one of all', () => {
  const named = (cluster, list) => list.map((s) => Object.assign({}, s, {
    labels: Object.assign({ cluster }, s.labels) }));
  const first = (v) => () => v;
  const lines = (series) => R.headlines(all(series), { step: STEP, until: UNTIL });
  assert.deepEqual(lines([...states(':1', busy), ...states(':2', first(20))]),
    ['2 rounds a second; kv :2 proposes.']);
  const slow = (i, s) => (s === 'request' ? 0 : 5);
  assert.deepEqual(lines([...named('a', [...states(':1', first(20)),
    ...states(':2', busy)]), ...named('b', [...states(':3', first(5)),
    ...states(':4', slow), ...states(':5', (i, st) => (st === 'request' &&
      i < 11 ? 0 : 5))])]), [
    '2.5 rounds a second in 2 clusters.',
    'kv cluster a: 2 rounds a second; kv :1 proposes.',
    'kv cluster b: 0.5 rounds a second; kv :3, kv :5 propose.']);
  assert.deepEqual(lines(named('a', [...states(':1', first(20)),
    ...states(':2', first(5))])), ['2 rounds a second of the busiest of ' +
    'several clusters; kv :1, kv :2 propose.']);
});

test('one that was started with another file is one replica', () => {
  const [a] = states(':1', (i) => (i < 6 ? 20 : null)).slice(4);
  const [b] = states(':1', (i) => (i < 6 ? null : 20)).slice(4);
  const list = of([a, b].map((s, i) => Object.assign({}, s, { labels:
    Object.assign({ cluster: 'ab'[i] }, s.labels) })));
  assert.deepEqual(list.map((r) => [r.states.execute, r.cluster, r.missed]),
    [[240, 'b', 0]]);
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
  assert.deepEqual(of(two('a', 'b')).map((r) => r.missed), [0, 0, 0, 0]);
  const same = of(two('a', 'a'));
  assert.deepEqual(levels(same), ['ok', 'ok', 'ok', 'ok']);
  assert.deepEqual(same.map((r) => r.missed), [null, null, null, null],
    'nobody knows of which cluster they are');
  /* a change of views is no other cluster */
  const change = [...cluster('a', states(':1', (i, s) => (s === 'request' &&
    i > 6 ? 0 : 20))), ...cluster('b', states(':2', (i, s) =>
    (s === 'request' && i < 6 ? 0 : 2)))];
  assert.deepEqual(levels(of(change)), ['ok', 'behind']);
});

test('who proposes in turn is of one cluster', () => {
  /* a new primary each third step, which both have rounds of */
  const turn = (n) => (i, s) => (s !== 'request' || Math.floor(i / 3) % 4 === n
    || i % 3 === 0 && (Math.floor(i / 3) + 3) % 4 === n ? 20 : 0);
  const list = of([0, 1, 2, 3].flatMap((n) => states(':' + n, turn(n))));
  assert.deepEqual(list.map((r) => r.missed), [0, 0, 0, 0]);
  /* and one file of several clusters beside another one */
  const file = (cluster, list) => list.map((s) => Object.assign({}, s, {
    labels: Object.assign({ cluster }, s.labels) }));
  assert.deepEqual(of([...file('a', [...states(':1', () => 20),
    ...states(':2', () => 5)]), ...file('b', states(':3', () => 20))])
    .map((r) => r.missed), [null, null, 0]);
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
  const [c] = all([...states(':1', busy), ...states(':2', (i) =>
    (i === 3 ? null : 5))]).clusters;
  const col = R.rate(c, { step: STEP, until: UNTIL });
  assert.deepEqual([...new Set(col.v)], [2]);
  assert.equal(col.t.length, N);
  const [gap] = all(states(':1', (i) => (i === 3 ? null : 20))).clusters;
  assert.equal(R.rate(gap, { step: STEP, until: UNTIL }).v[3], null, 'nobody was watched');
});
