/* Series arithmetic and the reading of health. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'series', 'health');
load('request', 'operations');
const col = (v, labels = {}) => ({ labels, unit: '',
  t: v.map((_, i) => i * 10), v });

test('a sum has a gap only where all have one', () => {
  const s = M.series.sum([col([1, null, null]), col([2, 3, null])]);
  assert.deepEqual(s.v, [3, 3, null]);
});

test('ratios of several instances are a span, not a sum', () => {
  const text = (v) => v + ' %';
  assert.equal(M.series.between([], text, ' hits'), '');
  assert.equal(M.series.between([9], text, ' hits'), '9 % hits');
  assert.equal(M.series.between([60, 90, 60], text, ' hits'),
    '60 % to 90 % hits');
});

test('waiting time of no request is no data, not 0', () => {
  assert.deepEqual(M.series.ratio(col([4, 0, null, 6]), col([2, 0, 1, 3])).v,
    [2, null, null, 2]);
});

test('columns of different times are aligned', () => {
  const a = { labels: {}, t: [0, 20], v: [1, 2] };
  const b = { labels: {}, t: [10, 20], v: [5, 6] };
  const s = M.series.sum([a, b]);
  assert.deepEqual([s.t, s.v], [[0, 10, 20], [1, 5, 8]]);
});

test('data, no data and not attached', () => {
  const answer = (points, more) =>
    ({ series: [Object.assign({ name: 'x', points }, more)] });
  assert.equal(M.series.state(answer([[0, 0]])), 'data');
  assert.equal(M.series.state(answer([[0, null]])), 'no data');
  assert.equal(M.series.state({ series: [] }), 'no data');
  assert.equal(M.series.state({ state: 'not attached', series: [] }),
    'not attached');
  assert.equal(M.series.state(answer([], { state: 'not attached' })),
    'not attached');
});

test('last, total and extent pass over gaps', () => {
  const c = col([null, 2, 5, null]);
  assert.equal(M.series.last(c), 5);
  assert.equal(M.series.last(col([null])), null);
  assert.equal(M.series.total(c), 7);
  assert.deepEqual(M.series.extent(c), { min: 2, max: 5, mean: 3.5, gaps: 2 });
  assert.equal(M.series.extent(col([])), null);
});

test('a lost connection is not the demo', () => {
  const { judge } = load('mode').mode;
  const at = (forced, reachable, api) => judge({ forced, reachable, api });
  assert.equal(at(false, null, true), 'starting');
  assert.equal(at(false, true, true), 'live');
  assert.equal(at(false, false, true), 'lost');
  assert.equal(at(false, false, false), 'offline', 'there is no API');
  assert.equal(at(true, false, true), 'offline', 'it was chosen');
});

test('a service without data stays chosen, beside what there is', () => {
  const { note } = load('services').services;
  const list = [{ name: 'db' }, { name: 'load' }];
  assert.equal(note('db', list), null);
  assert.equal(note('*', list), null);
  assert.deepEqual(note('gone', list), { offers: ['db', 'load', '*'],
    text: 'No data of “gone” in this range.' });
  assert.deepEqual(note('gone', list, { demo: true, host: false }),
    { offers: ['db', 'load'], text: '“gone” is not in the recorded demo.' });
  assert.match(note('*', list, { demo: true, host: false }).text,
    /profile of the whole host is not in/);
  assert.match(note('', [], { error: 'it failed' }).text, /it failed/);
});

const NOW = 1_700_000_000;
const healthy = (more) => Object.assign({ status: 'ok', version: '1',
  store: { from: 1, until: NOW - 4, bytes: 1, slots: 1 }, sources: [] }, more);

test('fresh data and an ok server are ok', () => {
  const j = M.health.judge(healthy(), NOW);
  assert.deepEqual([j.level, j.reasons, j.age], ['ok', [], 4]);
});

test('an old store is down although the server says ok', () => {
  const j = M.health.judge(
    healthy({ store: { until: NOW - 300 } }), NOW);
  assert.equal(j.level, 'down');
  assert.match(j.reasons[0], /nothing for 5 min/);
});

test('how old is too old depends on the slots', () => {
  const level = (age, slot) => M.health.judge(
    healthy({ store: { until: NOW - age, slot } }), NOW).level;
  assert.deepEqual([level(24, 10), level(26, 10), level(61, 10)],
    ['ok', 'degraded', 'down']);
  assert.deepEqual([level(4, 0.02), level(6, 0.02)], ['ok', 'down']);
});

test('the server may be more pessimistic than the age', () => {
  const j = M.health.judge(
    healthy({ status: 'degraded', reason: 'perf: not attached' }), NOW);
  assert.deepEqual([j.level, j.reasons], ['degraded', ['perf: not attached']]);
});

test('what was stopped on purpose is told, and is no reason', () => {
  const j = M.health.judge(healthy({ stopped: 'kv: a was; kv: b was' }), NOW);
  assert.deepEqual([j.level, j.reasons, j.stopped],
    ['ok', [], ['kv: a was', 'kv: b was']]);
  assert.deepEqual(M.health.judge(healthy(), NOW).stopped, []);
});

test('lost samples are summed over sources and reasons', () => {
  const j = M.health.judge(healthy({ sources: [
    { name: 'cpu', state: 'running', last: NOW - 7,
      lost: { map_full: 2, no_stack: 3 } },
    { name: 'proc', state: 'running', lost: {} },
    { name: 'heap', state: 'running', lost: {}, lost_bytes: { a: 5, b: 6 } }]
  }), NOW);
  assert.equal(j.lost, 5);
  assert.deepEqual(j.sources.map((s) => s.lostBytes), [0, 0, 11]);
  assert.equal(j.sources[0].age, 7);
  assert.equal(j.sources[1].age, null);
});

test('an empty store is said', () => {
  const j = M.health.judge(healthy({ store: {} }), NOW);
  assert.equal(j.level, 'degraded');
  assert.match(j.reasons[0], /empty/);
});

test('a young store is shown whole, an old one by its last hour', () => {
  assert.equal(M.time.presetFor(40), 'now-5m');
  assert.equal(M.time.presetFor(301), 'now-15m');
  assert.equal(M.time.presetFor(2000), 'now-1h');
  assert.equal(M.time.presetFor(1e9), 'now-1h');
});

test('a percentile comes from the buckets, none where nothing was counted', () => {
  const { quantile } = M.operations;
  const le = [0.001, 0.01, Infinity];
  assert.equal(quantile(0.5, le, [0, 0, 0]), null);
  assert.equal(quantile(0.5, le, [10, 10, 10]), 0.0005);
  assert.ok(Math.abs(quantile(0.75, le, [50, 100, 100]) - 0.0055) < 1e-9);
  assert.equal(quantile(0.99, le, [0, 0, 5]), 0.01, 'above every border');
});

/* Buckets of 1, 2, 5 know no three digits of a percentile. */
test('a percentile is told as far as its bucket knows it', () => {
  const { told } = M.operations, f = M.format.seconds;
  const le = [0.001, 0.002, 0.005, Infinity];
  assert.equal(told(0.0031234, le), f(0.002) + ' – ' + f(0.005));
  assert.equal(told(0.0005, le), f(0) + ' – ' + f(0.001));
  assert.equal(told(0.002, le), f(0.001) + ' – ' + f(0.002));
  assert.equal(told(0.005, le), '≥ ' + f(0.005));
  assert.equal(told(0.00995, [0.0099, 0.01, 0.02, Infinity]), f(0.00995));
});

test('a line names its instance where there are several', () => {
  const bucket = (instance) => ({ name: 'a_seconds_bucket', t: [0], v: [4],
    labels: { service: 's', op: 'get', instance, le: '+Inf' } });
  const label = (...list) => M.operations.families(list.map(bucket))
    .get('a_seconds').map((l) => l.label);
  assert.deepEqual(label('h:1'), ['get']);
  assert.deepEqual(label('h:1', 'h:2'), ['get h:1', 'get h:2']);
});

test('histograms are told apart by name, their lines by the other labels', () => {
  const bucket = (name, op, le, v) => ({ name: name + '_bucket', t: [0, 10], v,
    labels: { service: 's', op, le } });
  const found = M.operations.families([
    bucket('a_seconds', 'get', '+Inf', [4, null]),
    bucket('a_seconds', 'get', '0.5', [4, null]),
    bucket('a_seconds', 'set', '+Inf', [2, 2]),
    bucket('b_seconds', 'get', '0.5', [1, 1])]);
  assert.deepEqual([...found.keys()], ['a_seconds'], 'none without +Inf');
  assert.deepEqual(found.get('a_seconds').map((l) => [l.label, l.le]),
    [['get', [0.5, Infinity]], ['set', [Infinity]]]);
});
