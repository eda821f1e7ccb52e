/* Two trees in one, filters of snapshots, runs and their metrics. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'request', 'series', 'colour', 'flame-tree',
  'flame-layout', 'flame-facts', 'flame-answers', 'flame-diff', 'runs',
  'snapshot',
  'views', 'url-state');
const T = M.flameTree, D = M.flameDiff, R = M.runs;

/* An answer of flamegraph.json from {stack: value}. */
function answer(stacks, slots = 10) {
  const names = ['total'], all = Object.entries(stacks);
  const f = { names, kinds: ['unknown'], n: 0, name: [], level: [],
    parent: [], x: [], total: [], self: [], row: [0], depth: 0, ticks: 0 };
  const build = (list, depth) => list.reduce((m, [s, v]) => {
    const [head, ...rest] = s;
    m.set(head, (m.get(head) || []).concat([[rest, v]]));
    return m;
  }, new Map());
  let row = [[0, -1, 0, all.map(([s, v]) => [s.split(';'), v])]];
  while (row.length) {
    const next = [];
    for (const [id, parent, x, list] of row) {
      const own = list.filter(([s]) => !s.length);
      const self = own.reduce((n, [, v]) => n + v, 0);
      const total = list.reduce((n, [, v]) => n + v, 0);
      f.name.push(id);
      f.x.push(x);
      f.total.push(total);
      f.self.push(self);
      f.parent.push(parent);
      f.level.push(f.depth);
      const me = f.n++;
      let at = x + self;
      for (const [name, sub] of [...build(list.filter(([s]) => s.length))]
        .sort()) {
        if (!names.includes(name))
          names.push(name);
        next.push([names.indexOf(name), me, at, sub]);
        at += sub.reduce((n, [, v]) => n + v, 0);
      }
    }
    f.depth++;
    f.row.push(f.n);
    row = next;
  }
  f.ticks = f.total[0];
  return { flamebearer: T.encode(f), memlens: { slots, state: 'data' } };
}

test('the golden example of format double', () => {
  const d = D.fromPair(answer({ 'a;b': 1, 'a;c': 2 }),
    answer({ 'a;b': 4, 'a;c': 8 }), 'total');
  assert.deepEqual(d.flamebearer.levels, [[0, 3, 0, 0, 12, 0, 0],
    [0, 3, 0, 0, 12, 0, 1], [0, 1, 1, 0, 4, 4, 2, 0, 2, 2, 0, 8, 8, 3]]);
  assert.equal(d.flamebearer.numTicks, 15);
  assert.ok(d.rows.every((r) => Math.abs(r.self_difference) < 1e-12));
});

test('a decoded pair nests on both sides and keeps both masses', () => {
  let seed = 11;
  const rnd = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let round = 0; round < 30; round++) {
    const make = () => {
      const stacks = {};
      for (let i = 0; i < 25; i++)
        stacks[Array.from({ length: 1 + rnd(5) }, () => 'fgh'[rnd(3)])
          .join(';')] = 1 + rnd(9);
      return stacks;
    };
    const [a, b] = [make(), make()];
    const f = D.decode(D.fromPair(answer(a), answer(b), 'total'));
    const sum = (list) => list.reduce((n, v) => n + v, 0);
    assert.equal(sum(f.selfA), sum(Object.values(a)));
    assert.equal(sum(f.selfB), sum(Object.values(b)));
    assert.ok(Math.abs(f.ticks - 2) < 1e-9);
    for (let i = 1; i < f.n; i++) {
      const p = f.parent[i];
      assert.ok(p >= 0 && f.level[p] === f.level[i] - 1);
      assert.ok(f.x[i] >= f.x[p] - 1e-9 &&
        f.x[i] + f.total[i] <= f.x[p] + f.total[p] + 1e-9);
    }
  }
});

test('what is only in one is new or gone, with signs', () => {
  const d = D.fromPair(answer({ old: 5, both: 5 }),
    answer({ fresh: 5, both: 5 }), 'total');
  const f = D.decode(d);
  const of = (name) => D.frameChange(f, f.name.findIndex((id) =>
    f.names[id] === name));
  assert.deepEqual([of('old'), of('fresh'), of('both')], [-1, 1, 0]);
  const row = (name) => d.rows.find((r) => r.name === name);
  assert.equal(row('fresh').self_ratio, null);
  assert.equal(row('old').self_ratio, 0);
  assert.equal(row('both').few, true);
});

test('against nothing, nothing is claimed', () => {
  const d = D.fromPair(answer({}), answer({ a: 3 }), 'total');
  assert.equal(d.rows[0].self_difference, null);
  assert.equal(D.frameChange(D.decode(d), 1), 0);
});

test('per second divides by the time that has data', () => {
  const d = D.fromPair(answer({ a: 10 }, 1), answer({ a: 40 }, 2), 'time');
  assert.deepEqual(d.rows[0].self_normalised, [1, 2]);
  assert.equal(d.rows[0].self_ratio, 2);
  assert.match(d.words, /^Per second/);
});

test('colours of change: blue is less, orange is more, text readable', () => {
  for (const theme of ['light', 'dark'])
    for (let c = -1; c <= 1; c += 0.05)
      for (const faint of [false, true]) {
        const hex = M.colour.changed(c, faint, theme);
        assert.ok(M.colour.contrast(hex, M.colour.text(theme)) >= 4.5,
          `${c} ${faint} ${theme}: ${hex}`);
      }
  const rgb = (hex) => [1, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
  const [r1, b1] = rgb(M.colour.changed(0.8, false, 'light'));
  const [r2, b2] = rgb(M.colour.changed(-0.8, false, 'light'));
  assert.ok(r1 > b1 && b2 > r2);
});

test('focus, ignore and reverse of a snapshot are the server’s', () => {
  const f = T.decode(answer({ 'm;a;x': 3, 'm;b;x': 2, 'm;b': 1 }));
  const sorted = (o) => T.folded(T.reshape(f, o)).trim().split('\n').sort();
  assert.deepEqual(sorted({ focus: '^b$' }), ['m;b 1', 'm;b;x 2']);
  assert.deepEqual(sorted({ ignore: 'x' }), ['m;b 1']);
  assert.deepEqual(sorted({ reverse: '1' }), ['b;m 1', 'x;a;m 3',
    'x;b;m 2']);
  assert.equal(T.reshape(f, { focus: 'none' }).ticks, 0);
});

test('A is the span before, a chosen range, or the first half', () => {
  const range = { from: 1000, until: 2000 };
  const no = { afrom: '', auntil: '' };
  assert.deepEqual(R.pair(no, range, 0), { a: { from: 0, until: 1000 },
    b: range });
  assert.deepEqual(R.pair({ afrom: '10', auntil: '20' }, range, 0).a,
    { from: 10, until: 20 });
  const half = R.pair(no, range, 1200);
  assert.deepEqual([half.a, half.b, half.halves],
    [{ from: 1200, until: 1600 }, { from: 1600, until: 2000 }, true]);
  /* a range that is older than all data stays as it is */
  assert.deepEqual(R.pair(no, range, 5000).b, range);
  /* nonsense is no range */
  assert.deepEqual(R.pair({ afrom: '30', auntil: '20' }, range, 0).b, range);
});

test('metrics of a snapshot: no data is apart from 0', () => {
  const s = (name, value) => R.compareSeries({ name, labels: {}, unit: '',
    fn: 'mean' }, 'mean', value);
  const rows = [s('same', [2, 2]), s('new', [null, 0]), s('up', [2, 4]),
    s('gone', [5, null]), s('never', [null, null])];
  assert.deepEqual(rows.map((r) => r.verdict), ['same', 'only in B', 'moved',
    'only in A', 'only in B']);
  const all = R.compared(rows, { from: 0, until: 100 },
    { from: 100, until: 200 });
  assert.deepEqual(all.b, { from: 100, until: 200, series: 3,
    requests: null });
  assert.deepEqual(all.rows.map((r) => r.name), ['up', 'gone', 'new']);
  assert.equal(all.rows[0].ratio, 2);
  assert.equal(all.rows[2].value[1], 0);
  assert.equal(all.rows[2].value[0], null);
  assert.equal(all.counts.same, 1);
});

test('how B stands to A is said in few words', () => {
  const say = (a, b) => R.change({ value: [a, b], verdict: 'only in B' });
  assert.deepEqual([say(2, 2.5), say(2, 1), say(1, 4), say(0, 3), say(3, 0),
    say(0, 0), say(100, 100.5), say(null, 1)], ['+25 %', '−50 %', '× 4',
    'from 0', 'to 0', 'same', '+0.50 %', '']);
  assert.equal(M.unit.text(null, 'bytes'), 'no data');
  assert.equal(M.unit.text(0, 'bytes'), '0 B');
  assert.equal(M.unit.text(0.5, 'ratio'), '50 %');
});

test('the service comes first, then the host, then others', () => {
  const row = (name, labels) => ({ name, labels });
  assert.deepEqual(R.ranked([row('x', { service: 'o' }), row('h', {}),
    row('g', { groupname: 'kv' }), row('s', { service: 'kv' })], 'kv')
    .map((r) => r.name), ['g', 's', 'h', 'x']);
});

test('a run tells what is known of it', () => {
  const facts = R.facts({ name: 'x', label: 'l', rate_reached: 998.2,
    rate_target: 1000, sysctls: { 'vm.swappiness': '60' } });
  assert.deepEqual(facts, [['Label', 'l'],
    ['Rate', '998/s reached of 1 k/s'], ['vm.swappiness', '60']]);
  assert.equal(R.named([{ from: 10.2, until: 20 }], { from: 10, until: 20 }),
    undefined, 'another range than that of the run');
});

test('the address keeps a comparison and drops nonsense', () => {
  const s = M.urlState.parse('?v=1&tab=runs&view=compare&afrom=10&auntil=x' +
    '&focus=a%7Cb&collapse=yes&reverse=1&normalise=time&show=worse');
  assert.deepEqual([s.tab, s.view, s.afrom, s.auntil, s.focus, s.collapse,
    s.reverse, s.normalise, s.show], ['runs', 'compare', '', '', 'a|b', '',
    '1', 'time', 'worse']);
  assert.deepEqual(M.urlState.parse(M.urlState.serialise(s)), s);
});

test('requests are counted by counters of the service', () => {
  const row = (name, service, fn = 'rate') => ({ name, fn,
    labels: { service } });
  assert.deepEqual(R.counters([row('kv_operations_total', 'kv'),
    row('kv_operations_total', 'kv'), row('x_requests_total', 'other'),
    row('kv_request_seconds', 'kv', 'mean'),
    row('exposer_request_count', 'kv')], 'kv'),
  ['kv_operations_total{service="kv"}']);
});

/* The picker's first was a bucket: the cost of a request 18.6 times too
 * small. */
test('buckets and sums count no requests', () => {
  const row = (name, labels = {}) => ({ name, fn: 'rate',
    labels: { service: 'kv', ...labels } });
  assert.deepEqual(R.counters([
    row('kv_operation_seconds_bucket', { le: '0.1' }),
    row('kv_operation_seconds_sum'), row('kv_operation_seconds_count')],
  'kv'), ['kv_operation_seconds_count{service="kv"}']);
});

/* A service with nothing but lat_seconds_count had nothing to choose. */
test('the count of a histogram or summary may count requests', () => {
  const row = (name, labels = {}) => ({ name, fn: 'rate',
    labels: { service: 'kv', ...labels } });
  assert.deepEqual(R.counters([row('lat_seconds_count'),
    row('lat_seconds_sum'), row('lat_seconds_bucket', { le: '1' }),
    row('sm_seconds_count'), row('work_total'), row('z_commands_total'),
    row('exposer_request_count')], 'kv'), ['z_commands_total',
    'lat_seconds_count', 'sm_seconds_count'].map((n) => n +
    '{service="kv"}'));
});

test('few is said of what is known to be few', () => {
  const side = { unit: 'nanoseconds', divided_by: 70 };
  const d = M.flameDiff.decode({ a: side, b: side,
    sample_levels: [[5, 0, 5, 0], [5, 5, 5, 5, 0, 0, 0, 0]],
    unknown_levels: [[40, 0, 40, 0], [0, 0, 0, 0, 40, 40, 40, 40]],
    flamebearer: { names: ['total', 'f', 'g'], levels: [
      [0, 70, 0, 0, 70, 0, 0],
      [0, 30, 30, 0, 30, 30, 1, 0, 40, 40, 0, 40, 40, 2]] } });
  /* fewer than a hundred are known of all three, but only f's are all */
  assert.deepEqual([0, 1, 2].map((i) => M.flameDiff.isFew(d, i)),
    [false, true, false]);
});
