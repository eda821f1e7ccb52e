/* Types of profiles and units, as the API tells them. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { SCRIPTS, load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'request', 'colour', 'flame-tree',
  'flame-facts', 'flame-time', 'runs', 'recorded-profiles', 'snapshot',
  'types');
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
