/* Call trees, their layout and their colours. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'flame-tree', 'flame-layout', 'flame-facts',
  'flame-answers', 'colour', 'flame-places');
const T = M.flameTree;

/* A naive tree of {stack: value}, encoded by the rules of the format. */
function flamebearer(stacks) {
  const make = () => ({ total: 0, self: 0, kids: new Map() });
  const root = make();
  for (const [stack, value] of Object.entries(stacks)) {
    let n = root;
    n.total += value;
    for (const name of stack.split(';')) {
      if (!n.kids.has(name))
        n.kids.set(name, make());
      n = n.kids.get(name);
      n.total += value;
    }
    n.self += value;
  }
  const names = ['total'], levels = [];
  let row = [['total', 0, root]];
  while (row.length) {
    const flat = [], next = [];
    let prev = 0;
    for (const [name, x, n] of row) {
      if (!names.includes(name))
        names.push(name);
      flat.push(x - prev, n.total, n.self, names.indexOf(name));
      prev = x + n.total;
      let at = x + n.self;
      for (const [k, c] of [...n.kids].sort()) {
        next.push([k, at, c]);
        at += c.total;
      }
    }
    levels.push(flat);
    row = next;
  }
  return { version: 1, flamebearer: { names, levels, numTicks: root.total,
    maxSelf: 0 } };
}

const byName = (f) =>
  Object.fromEntries(T.functions(f).map((r) => [r.name, [r.self, r.total]]));

test('the golden example of the format', () => {
  const f = T.decode({ flamebearer: { names: ['total', 'a', 'c', 'b'],
    levels: [[0, 3, 0, 0], [0, 3, 0, 1], [0, 1, 1, 3, 0, 2, 2, 2]],
    numTicks: 3, maxSelf: 2 } });
  assert.equal(T.folded(f), 'a;b 1\na;c 2\n');
  assert.deepEqual(f.parent, [-1, 0, 1, 1]);
});

test('self comes before the children', () => {
  const f = T.decode(flamebearer({ 'a': 2, 'a;b': 3, 'c': 1 }));
  assert.deepEqual(f.x, [0, 0, 5, 2]);
  assert.equal(T.folded(f), 'a 2\nc 1\na;b 3\n');
});

test('decoding and encoding are inverse', () => {
  const a = flamebearer({ 'm;x;y': 3, 'm;z': 4, 'm': 1, 'k;x': 2 });
  const b = T.encode(T.decode(a));
  assert.deepEqual(b.levels, a.flamebearer.levels);
});

test('recursion is counted once', () => {
  const f = T.decode(flamebearer({ 'a;b;a;b': 5, 'a;c': 2, 'b': 1 }));
  assert.deepEqual(byName(f), { a: [0, 7], b: [6, 6], c: [2, 2] });
});

test('no function exceeds the whole, selfs add up to it', () => {
  let seed = 7;
  const rnd = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 50; round++) {
    const stacks = {};
    for (let i = 0; i < 30; i++)
      stacks[Array.from({ length: 1 + rnd(6) },
        () => 'fgh'[rnd(3)] + rnd(2)).join(';')] = 1 + rnd(9);
    const f = T.decode(flamebearer(stacks));
    const rows = T.functions(f);
    assert.ok(rows.every((r) => r.total <= f.ticks && r.self <= r.total));
    assert.equal(rows.reduce((s, r) => s + r.self, 0), f.ticks);
    for (const r of rows) {
      const s = T.sandwich(f, r.id);
      assert.equal(s.callees.ticks, r.total);
      assert.equal(s.callers.ticks, r.total);
    }
  }
});

test('table, search and sandwich of a whole tree, as the server answers', () => {
  const A = M.flameAnswers;
  const f = T.decode(flamebearer({ 'a;b;a': 5, 'a;c': 2, 'B': 1 }));
  const t = A.table(f, { search: 'b', sort: 'total' });
  assert.deepEqual(t.rows.map((r) => [r.name, r.self, r.total]),
    [['b', 0, 5], ['B', 1, 1]]);
  assert.deepEqual(t.matched, { amount: 6, samples: null, share: 6 / 8 });
  assert.equal(A.table(f, { limit: 1 }).functions, 4);
  assert.deepEqual(A.table(f, { sort: '-name' }).rows.map((r) => r.name),
    ['c', 'b', 'a', 'B']);
  const s = A.sandwich(f, 'b');
  assert.deepEqual(s.function, { name: 'b', self: 0, total: 5,
    self_samples: null, total_samples: null });
  assert.equal(s.callers.flamebearer.levels[2][1], 5);
  assert.equal(A.sandwich(f, 'nobody').function.total, 0);
  M.api = { ApiError: Error };
  assert.throws(() => A.table(f, { search: '/(/' }));
});

test('what a cut has gathered is no function', () => {
  const f = T.decode(flamebearer({ 'a;(other)': 5, 'a;c': 2, '(other)': 1 }));
  assert.equal(T.gathered(f), 6);
  assert.equal(T.gathered(T.decode(flamebearer({ a: 1 }))), 0);
});

test('matches inside matches are not counted twice', () => {
  const f = T.decode(flamebearer({ 'Get;GetX': 4, 'Put': 3, 'z;get': 2 }));
  const r = T.search(f, T.matcher('get'));
  assert.equal(r.ticks, 6);
  assert.equal(T.search(f, T.matcher('/^Get$/')).ticks, 4);
  assert.equal(T.search(f, T.matcher('total')).ticks, 0);
  assert.ok(T.matcher('/(/').error);
  assert.equal(T.matcher(''), null);
});

test('sandwich: callers above, callees below', () => {
  const f = T.decode(flamebearer({ 'a;f;x': 3, 'b;f;y': 2, 'a;z': 1 }));
  const id = f.names.indexOf('f');
  const s = T.sandwich(f, id);
  assert.deepEqual(s.callees.name.slice(1).map((k) => f.names[k]), ['x', 'y']);
  assert.deepEqual(s.callers.name.slice(1).map((k) => f.names[k]), ['a', 'b']);
  assert.deepEqual(s.callers.total, [5, 3, 2]);
  assert.equal(T.sandwich(f, 0), null);
});

test('an answer without samples is a tree without frames below total', () => {
  const f = T.decode({ flamebearer: { names: ['total'],
    levels: [[0, 0, 0, 0]], numTicks: 0, maxSelf: 0 } });
  assert.equal(f.ticks, 0);
  assert.deepEqual(T.functions(f), []);
  assert.equal(T.decode(null).n, 0);
});

test('rows fill the width; narrow frames are gathered and counted', () => {
  const stacks = { wide: 1000 };
  for (let i = 0; i < 50; i++)
    stacks['narrow' + i] = 1;
  const f = T.decode(flamebearer(stacks));
  const l = M.flameLayout.lay(f, 0, 800);
  assert.equal(l.hidden, 50);
  assert.equal(l.rows[1].length, 2);
  const end = l.rows[1].reduce((m, r) => Math.max(m, r.left + r.width), 0);
  assert.ok(Math.abs(end - 800) < 1e-6);
});

test('a zoomed frame fills the width and its ancestors stay', () => {
  const f = T.decode(flamebearer({ 'a;b': 10, 'a;c;d': 30, 'e': 60 }));
  const c = f.name.findIndex((id) => f.names[id] === 'c');
  const l = M.flameLayout.lay(f, c, 500);
  assert.deepEqual(l.rows.map((r) => r.map((q) =>
    [f.names[f.name[q.i]], q.left, q.width, q.above])), [
    [['total', 0, 500, true]], [['a', 0, 500, true]],
    [['c', 0, 500, false]], [['d', 0, 500, false]]]);
});

test('the pointer finds a frame narrower than a pixel', () => {
  const f = T.decode(flamebearer({ a: 99999, b: 1 }));
  const i = M.flameLayout.hit(f, 0, 100, 99.9995, 1);
  assert.equal(f.names[f.name[i]], 'b');
  assert.equal(M.flameLayout.hit(f, 0, 100, 50, 7), -1);
});

test('arrow keys walk the tree', () => {
  const f = T.decode(flamebearer({ 'a;b': 1, 'a;c': 2, 'd': 1 }));
  const name = (i) => f.names[f.name[i]];
  const a = M.flameLayout.step(f, 0, 'down');
  const c = M.flameLayout.step(f, a, 'down');
  assert.deepEqual([name(a), name(c)], ['a', 'c']);
  assert.equal(name(M.flameLayout.step(f, c, 'left')), 'b');
  assert.equal(M.flameLayout.step(f, 0, 'up'), 0);
});

test('every frame colour can carry its text', () => {
  for (const theme of ['light', 'dark'])
    for (const { kind } of M.colour.KINDS)
      for (let i = 0; i < 400; i++) {
        const fill = M.colour.frame('fn' + i, kind, theme);
        assert.match(fill, /^#[0-9a-f]{6}$/);
        assert.ok(M.colour.contrast(fill, M.colour.text(theme)) >= 4.5,
          `${kind} ${theme} ${fill}`);
      }
});

test('a name keeps its colour; kinds differ', () => {
  const c = M.colour.frame('leveldb::Get', 'user', 'light');
  assert.equal(M.colour.frame('leveldb::Get', 'user', 'light'), c);
  assert.notEqual(M.colour.frame('leveldb::Get', 'kernel', 'light'), c);
});

test('samples of several periods are told by frame and by function', () => {
  const one = { metadata: { sampleRate: 1e9, units: 'samples' },
    memlens: { unit: 'nanoseconds', period: null,
      sample_levels: [[5, 0], [5, 1, 0, 0], [4, 4]] },
    flamebearer: { names: ['total', 'f', 'none'], numTicks: 70, maxSelf: 40,
      levels: [[0, 70, 0, 0], [0, 70, 30, 1, 0, 0, 0, 2],
        [30, 40, 40, 1]] } };
  const f = T.decode(one), unit = M.flameFacts.unitOf(one);
  assert.deepEqual([0, 1, 2].map((i) => M.flameFacts.frameSamples(unit, f, i)),
    [5, 5, 4]);
  const [row] = T.functions(f);
  assert.deepEqual(['self', 'total'].map((key) =>
    M.flameFacts.samplesOf(unit, row, key)), [5, 5]);
  delete one.memlens.sample_levels;
  one.memlens.period = 10;
  const g = T.decode(one), known = M.flameFacts.unitOf(one);
  assert.equal(M.flameFacts.frameSamples(known, g, 2), 4);
  assert.equal(M.flameFacts.samplesOf(known, T.functions(g)[0], 'self'), 7);
});

test('samples that nobody has counted are at least so many', () => {
  const one = { metadata: { sampleRate: 1e9, units: 'samples' },
    memlens: { unit: 'nanoseconds', period: null, samples_unknown: 40,
      sample_levels: [[5, 0], [5, 5, 0, 0]],
      unknown_levels: [[40, 0], [0, 0, 40, 40]] },
    flamebearer: { names: ['total', 'f', 'g'], numTicks: 70, maxSelf: 40,
      levels: [[0, 70, 0, 0], [0, 30, 30, 1, 0, 40, 40, 2]] } };
  const f = T.decode(one), unit = M.flameFacts.unitOf(one);
  assert.deepEqual([0, 1, 2].map((i) => M.flameFacts.frameCount(unit, f, i)),
    ['at least 5', '5', 'at least 0']);
});

test('amounts are read in their unit, samples by their period', () => {
  const text = (memlens, metadata) =>
    M.flameFacts.unitOf({ memlens, metadata });
  const hz = text({ unit: 'nanoseconds', period: 10101010 },
    { sampleRate: 1e9, units: 'samples' });
  assert.equal(hz.text(999999990), '1 s');
  assert.equal(hz.samples(303030300), 30);
  const mixed = text({ unit: 'nanoseconds', period: null },
    { sampleRate: 1e9, units: 'samples' });
  assert.equal(mixed.text(2e9), '2 s');
  assert.equal(mixed.samples(2e9), null);
  const recorded = text({ unit: 'nanoseconds', period_ns: 10101010 },
    { sampleRate: 99, units: 'samples' });
  assert.deepEqual([recorded.text(99), recorded.samples(99)], ['1 s', 99]);
  assert.equal(text({ unit: 'bytes', period: null }).samples(7), null);
  assert.equal(text({ unit: 'samples', period: 1 },
    { sampleRate: 1, units: 'samples' }).text(50), '50');
  assert.equal(text({}, { units: 'samples', sampleRate: 100 }).text(50),
    '500 ms');
  assert.equal(text({ unit: 'bytes' }).text(2048), '2 KiB');
  assert.equal(text({}, {}).text(1234), '1,234');
});

test('nothing, zero and not attached are said apart', () => {
  const say = (memlens) => M.flameFacts.emptyText({ memlens }, 'CPU time');
  assert.match(say({ state: 'zero', slots: 6 }), /^0 samples/);
  assert.match(say({ slots: 6 }), /^0 samples/);
  assert.match(say({ state: 'no data', slots: 0 }), /^No data/);
  assert.match(say({}), /^No data/);
  assert.match(say({ state: 'degraded', why: 'x', slots: 0 }), /^No data/);
  assert.match(say({ state: 'degraded', why: 'x', slots: 3 }), /^0 samples/);
  assert.equal(say({ state: 'not attached', why: 'no rights' }),
    'The profiler of CPU time is not attached: no rights.');
  assert.match(say({ state: 'no data', slots: 6, incomplete: true,
    why: 'waits were lost' }), /^No data: waits were lost/);
});

test('what may lack some is said', () => {
  const { incompleteText } = M.flameFacts;
  assert.equal(incompleteText({ state: 'data', why: 'whole spans' }), null);
  assert.deepEqual(incompleteText({ state: 'data', incomplete: true,
    why: 'lost' }), { text: 'incomplete', why: 'lost' });
});

test('what lost samples of memory stand for is said in its unit', () => {
  const { lostAmount } = M.flameFacts;
  const m = { unit: 'bytes', faults: 'service', lost: { 'held full': 2 },
    lost_bytes: { 'held full': 3 * 2 ** 20 }, lost_bytes_on_host: {},
    lost_objects: { 'held full': 7 }, lost_objects_on_host: {} };
  assert.match(lostAmount(m), /^, 3(\.0)? MiB$/);
  assert.equal(lostAmount({ ...m, unit: 'count' }), ', 7');
  assert.match(lostAmount({ ...m, lost_bytes_on_host: { 'ring full': 1 } }),
    /^, at most 3(\.0)? MiB$/);
  assert.match(lostAmount({ ...m, faults: 'host', lost_bytes_on_host: {
    'ring full': 1 } }), /^, 3(\.0)? MiB$/);
  assert.equal(lostAmount({ unit: 'bytes', lost: { malformed: 3 } }), '');
  assert.equal(lostAmount({ unit: 'nanoseconds', lost: { malformed: 3 } }), '');
});

test('what of a service is not observed is said', () => {
  const { observedText } = M.flameFacts;
  assert.equal(observedText({ unit: 'bytes' }), null);
  assert.equal(observedText({ observed: null }), null);
  assert.equal(observedText({ observed: { processes: 1, resident: 1 } }), null);
  const half = observedText({ observed: { processes: 0.5, resident: 0.25 } });
  assert.match(half.text, /^observed: 25(\.0)? % of its resident memory$/);
  assert.match(half.why, /^50(\.0)? % of the processes/);
  assert.match(observedText({ observed: { processes: 0.5, resident: null } })
    .text, /^observed: 50(\.0)? % of its processes$/);
});

test('where threads were not watched for all of the slots is said', () => {
  const { watchedText } = M.flameFacts;
  assert.equal(watchedText({ slots: 40 }, 10), null);
  assert.equal(watchedText({ slots: 0, watched_seconds: null }, 10), null);
  assert.equal(watchedText({ slots: 40, watched_seconds: 399.99 }, 10), null);
  const cpu = watchedText({ slots: 40, watched_seconds: 345 }, 10);
  assert.match(cpu.text, /^CPU time sampled for 5/);
  const part = watchedText({ slots: 40, watched_seconds: 345,
    threshold_seconds: null }, 10);
  assert.match(part.text, /^threads watched for 5(\.75 min| min 45 s) of 6/);
  assert.match(part.why, /the rest of these 40 slots/);
});

test('what damage has taken is said', () => {
  const F = M.flameFacts;
  assert.equal(F.partialText([]), null);
  assert.equal(F.partialText(undefined), null);
  const one = F.partialText([{ from: 1700000000, until: 1700000640,
    why: 'late-0-1-2.mdb is damaged' }]);
  assert.equal(one.text, 'partial: 1 stretch damaged');
  assert.match(one.why, /late-0-1-2.mdb is damaged/);
  assert.match(F.emptyText({ memlens: { state: 'partial', slots: 0 } }),
    /damaged/);
});

test('a zoom finds its path in the next answer, as far as it goes', () => {
  const a = T.decode(flamebearer({ 'm;x;y': 3, 'm;z': 4 }));
  const b = T.decode(flamebearer({ 'k': 9, 'm;x': 3, 'm;z': 4 }));
  const of = (f, name) => f.name.findIndex((id) => f.names[id] === name);
  const at = (name) => b.names[b.name[M.flameFacts.pathFrame(b,
    M.flameFacts.pathCode(a, of(a, name)))]];
  assert.deepEqual([at('z'), at('y'), at('total')], ['z', 'x', 'total']);
  assert.equal(M.flameFacts.pathFrame(b, 'nonsense.x'), 0);
});

test('a place is said once although two builds have it', () => {
  const place = (line, build_id) =>
    ({ file: 'tests/kv/http.cc', line, module: 'kv', build_id });
  const known = M.flamePlaces.known({ rows: [
    { name: 'f', kind: 'user', places: [place(7, 'a'), place(7, 'b')] },
    { name: 'g', kind: 'user', places: [place(7, 'a'), place(9, 'b')] },
    { name: 'h', kind: 'user', places: [] }] });
  const said = (name, how) => M.flamePlaces[how](known.get(name + '\0user'));
  assert.equal(said('f', 'brief'), 'http.cc:7');
  assert.equal(said('f', 'whole'), 'tests/kv/http.cc:7 in kv');
  assert.equal(said('g', 'brief'), 'http.cc:7 +1');
  assert.equal(said('h', 'brief'), '');
});

test('how much of the CPU time was sampled is told of enough samples', () => {
  const text = (m) => M.flameFacts.coverageText(m);
  const m = { coverage: 0.78125, cpu_seconds: 12.8, total_samples: 990,
    calibrated: false };
  assert.equal(text(m).text, '78.1 % of its CPU time seen');
  assert.match(text(m).why, /counted 12\.8 s of CPU time .* show 78\.1 %/);
  assert.equal(text({ ...m, calibrated: true }).text,
    'calibrated: 78.1 % of its CPU time seen');
  assert.equal(text({ ...m, total_samples: 99 }), null);
  assert.equal(text({ ...m, coverage: null, cpu_seconds: null }), null);
  assert.equal(text({}), null); /* recordings of before */
});

test('stacks that are not whole are told with whose they are', () => {
  const text = (broken, whose) => M.flameFacts.brokenText(broken, whose);
  assert.equal(text({ 'no row': 2, truncated: 1 }, 'service').text,
    '3 stacks not whole');
  assert.equal(text({ truncated: 1 }, 'host').text,
    '1 stack on the host not whole');
  assert.equal(text({ truncated: 0 }, 'service'), null);
});
