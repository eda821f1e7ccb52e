/* Types of profiles and units, as the API tells them. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { SCRIPTS, load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'request', 'colour', 'flame-tree',
  'flame-facts', 'flame-time', 'runs', 'recorded-profiles', 'snapshot',
  'types', 'series');
load('chart', 'threads');
const TABLE = [{ name: 'a', title: 'CPU time', unit: 'nanoseconds' },
  { name: 'b', title: 'Wonders seen', unit: 'count' }];

test('a service is offered what it has, in the order of the table', () => {
  const names = (found) => [found.all.map((t) => t.name).join(),
    found.one && found.one.name];
  const { choice } = M.types;
  assert.deepEqual(names(choice(TABLE, ['b', 'a'], '')), ['a,b', 'a']);
  assert.deepEqual(names(choice(TABLE, ['b'], '')), ['b', 'b']);
  assert.deepEqual(names(choice(TABLE, ['x', 'b'], 'x')), ['b,x', 'x']);
  assert.equal(choice([], ['x'], '').one.title, 'x');
  /* what was chosen stays, beside what there is */
  assert.deepEqual(names(choice(TABLE, ['b'], 'a')), ['a,b', 'a']);
  assert.deepEqual(names(choice(TABLE, [], '')), ['a', 'a']);
  assert.equal(choice([], [], '').one, null);
});

test('an amount is said with the title of its type', () => {
  assert.equal(M.types.amount('4 s', TABLE[0]), '4 s of CPU time');
  assert.equal(M.types.amount('12', TABLE[1]), '12 wonders seen');
});

/* The pages had three tables of units; what none had was a bare number. */
test('metrics and profiles read alike in a unit, known or not', () => {
  const { text, cell, rate, each } = M.unit;
  assert.deepEqual(['nanoseconds', 'seconds', 'bytes', 'bytes/s', 'ratio',
    'count', '', '/s'].map((unit) => text(2, unit)), ['0.002 µs', '2 s',
    '2 B', '2 B/s', '200 %', '2', '2', '2/s']);
  assert.equal(text(1234567, 'count'), '1,234,567');
  assert.equal(text(0.25, 'count'), '0.25');
  assert.equal(text(1234567, 'cycles'), '1,234,567 cycles');
  assert.equal(text(null, 'cycles'), 'no data');
  assert.equal(cell(2.5e9, 'nanoseconds'), '2.50 s');
  assert.deepEqual(['seconds', 'bytes', 'count', '', 'cycles'].map(rate),
    ['ratio', 'bytes/s', '/s', '/s', 'cycles/s']);
  assert.deepEqual(['ratio', 'bytes/s', '/s', 'cycles/s'].map(each),
    ['seconds', 'bytes', '', 'cycles']);
});

/* A stock and a count were told as so much in a step, without a word. */
test('over time a flow is so much a second, a stock so much', () => {
  const over = (unit, kind) => {
    const u = M.flameFacts.unitOf({ memlens: { unit, kind } });
    const [total] = M.flameTime.columns({ over_time: { step: 20,
      points: [[0, 1, 5e9], [20, null, null]] } }, u);
    return total.v.map((v) => u.show(v));
  };
  assert.deepEqual(over('nanoseconds', 'flow'), ['25 %', 'no data']);
  assert.deepEqual(over('nanoseconds', 'stock'), ['5 s', 'no data']);
  assert.deepEqual(over('count', 'flow'), ['250 M/s', 'no data']);
  assert.deepEqual(over('count', 'stock'), ['5,000,000,000', 'no data']);
  assert.deepEqual(over('bytes', 'flow'), ['238 MiB/s', 'no data']);
  assert.deepEqual(over('bytes', 'stock'), ['4.66 GiB', 'no data']);
});

test('a recording has the types it was made with, or is of before', () => {
  const profiles = { of: {} }, answers = {};
  const ask = () => M.recording.answer({ profiles, answers }, 'types', {});
  assert.equal(ask().types[0].title, 'CPU time');
  answers.types = { types: TABLE };
  assert.deepEqual(ask().types, TABLE);
});

/* A new type is a row of that table, and nothing here. */
test('the scripts know no type of profiles', () => {
  const file = (name) => readFileSync(new URL('../../../' + name,
    import.meta.url), 'utf8');
  const names = [...file('store/model/types.c').matchAll(/^ {4}\{"(\w+)", "/gm)]
    .map((m) => m[1]);
  assert.ok(names.length > 20);
  for (const [name, path] of SCRIPTS) {
    const text = file('frontend/js/' + path);
    for (const type of names.filter((n) => n.includes('_')))
      assert.ok(!RegExp(`\\b${type}\\b`).test(text), name + ': ' + type);
    assert.ok(['unit', 'snapshot'].includes(name) ||
      !/nanoseconds'|selector\('cpu'/.test(text), name);
  }
});

/* main 10: work 4 on CPU, 6 of waits in it */
const answer = (more) => ({ metadata: { sampleRate: 1e9 }, flamebearer: {
  names: ['total', 'main', 'work'], numTicks: 10e9, maxSelf: 4e9,
  levels: [[0, 10e9, 0, 0], [0, 10e9, 6e9, 1], [6e9, 4e9, 4e9, 2]] },
memlens: Object.assign({ unit: 'nanoseconds', kind: 'flow', slots: 3,
  parts: {}, whole_slots: 3, sample_levels: [[400, 0], [400, 0], [400, 400]],
  unknown_levels: [[6e9, 0], [6e9, 6e9], [0, 0]] }, more) });

test('how much of the time is idle waits is said', () => {
  const other = answer();
  other.flamebearer.numTicks = 40e9;
  assert.equal(M.types.idleText(answer(), other, ''),
    'Idle waits hidden: 30 s (75 %)');
  assert.equal(M.types.idleText(other, answer(), '1'),
    'Idle waits shown: 30 s (75 %)');
  const none = answer();
  none.flamebearer.numTicks = 0;
  assert.equal(M.types.idleText(none, none, ''), null, 'no data is not 0 s');
});

test('wall time is hot where it is on a CPU, cold where it waits', () => {
  const f = M.flameTree.decode(answer()), X = M.flameFacts;
  assert.deepEqual([0, 1, 2].map((i) => X.offShare(f, i)), [0.6, 0.6, 0]);
  const unit = X.unitOf(answer());
  assert.ok(unit.states && !X.unitOf({ memlens: {} }).states);
  assert.equal(X.frameCount(unit, f, 0), '400'); /* no "at least" */
  const hue = (off) => {
    const [r, g, b] = [1, 3, 5].map((k) => parseInt(
      M.colour.state('f', off, 'light').slice(k, k + 2), 16));
    return r - b;
  };
  assert.ok(hue(0) > 30 && hue(1) < -20 && hue(0.5) < hue(0) &&
    hue(0.5) > hue(1));
  for (const theme of ['light', 'dark'])
    for (const off of [0, 0.3, 0.5, 0.8, 1])
      for (const name of ['a', 'malloc', 'zz'])
        assert.ok(M.colour.contrast(M.colour.state(name, off, theme),
          M.colour.text(theme)) >= 4.5);
});

test('what wall time lacks is said, and which waits have stacks', () => {
  const X = M.flameFacts;
  assert.equal(X.partsText(answer().memlens), null);
  assert.equal(X.partsText(answer({ whole_slots: 1 }).memlens).text,
    'CPU time alone in 2 of 3 slots');
  assert.equal(X.thresholdText({}), '');
  assert.equal(X.thresholdText({ threshold_seconds: { min: 0.001,
    max: 0.001 } }), 'stacks of waits from 1 ms');
  assert.equal(X.thresholdText({ threshold_seconds: { min: 0.001,
    max: 0.004 } }), 'stacks of waits from 1 ms to 4 ms');
  assert.equal(X.emptyText({ memlens: { state: 'no data', why: 'off' } }, ''),
    'No data: off.');
});

test('states of threads: sums over pools, 0 is not null', () => {
  const points = (...v) => v.map((x, i) => [10 * i, x]);
  const { times, rows } = M.threads.rows({ pools: [
    { states: [{ state: 'on cpu', points: points(1, 0, null) },
      { state: 'lock', points: points(0, 2, null) }] },
    { states: [{ state: 'on cpu', points: points(null, 3, null) },
      { state: 'new one', points: points(null, 1, null) }] }] });
  const of = (name) => rows[M.threads.STATES.findIndex(([n]) => n === name)];
  assert.deepEqual(times, [0, 10, 20]);
  assert.deepEqual(of('on cpu'), [1, 3, null]);
  assert.deepEqual(of('lock'), [0, 2, null]);
  assert.deepEqual(of('other'), [null, 1, null]);
  assert.deepEqual(of('poll'), [null, null, null]);
});

test('a stack draws each line with all below it that is shown', () => {
  const chart = { stacked: true, series: [{}, {}, {}] };
  const data = [[0, 1, 2], [1, 2, null], [10, null, null], [100, 0, null]];
  assert.deepEqual(M.chart.drawn(chart, data), [[0, 1, 2], [111, 2, null],
    [110, 0, null], [100, 0, null]]);
  chart.series[2].hidden = true;
  assert.deepEqual(M.chart.drawn(chart, data)[1], [11, 2, null]);
  assert.equal(M.chart.drawn({ series: [] }, data)[1][0], 1);
});
