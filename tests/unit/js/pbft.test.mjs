/* The protocol as it is drawn: who tells whom, and when a quorum is there. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const P = load('pbft-model').pbftModel;
const counts = (list) => P.PHASES.map((_, phase) =>
  list.filter((m) => m.phase === phase).length);
const END = P.duration();
const at = (list, lane, t) => P.progress(list, lane, t);

test('messages of a round without faults', () => {
  assert.deepEqual(counts(P.messages(0)), [1, 3, 9, 12, 4]);
});

test('nobody talks to itself, and only replicas talk to each other', () => {
  for (const m of P.messages(0)) {
    assert.notEqual(m.from, m.to);
    assert.ok(m.phase === 0 || m.phase === 4 || m.from > 0 && m.to > 0);
  }
});

test('phases follow each other', () => {
  const list = P.messages(0);
  for (const m of list)
    assert.ok(list.every((o) => o.phase <= m.phase || o.start >= m.end));
  assert.equal(P.phaseAt(0), 0);
  assert.equal(P.phaseAt(END), 4);
});

test('everybody prepares and commits, the client is done', () => {
  const list = P.messages(0);
  for (const lane of [1, 2, 3, 4])
    assert.equal(at(list, lane, END), 'committed');
  assert.equal(at(list, 0, END), 'done');
  assert.equal(at(list, 0, 0.1), 'waiting');
  assert.equal(at(list, 2, 1), '');
});

test('one silent backup stops nobody else', () => {
  const list = P.messages(4);
  assert.deepEqual(counts(list), [1, 3, 6, 9, 3]);
  for (const lane of [1, 2, 3])
    assert.equal(at(list, lane, END), 'committed');
  assert.equal(at(list, 0, END), 'done');
});

test('a silent primary stops the round: the view must change', () => {
  const list = P.messages(1);
  assert.deepEqual(counts(list), [1, 0, 0, 0, 0]);
  assert.equal(at(list, 2, END), '');
  assert.equal(at(list, 0, END), 'waiting');
});
