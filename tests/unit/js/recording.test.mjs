/*
 * The demo's exact profiles and series, against sums of the stacks of each
 * slot made one by one: every range, several rates, damage and gaps.
 */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';
import { Pack } from '../../../frontend/tools/pack.mjs';

const M = load('format', 'unit', 'time', 'request', 'series', 'colour', 'flame-tree',
  'flame-answers', 'flame-facts', 'recorded-profiles', 'recorded-series',
  'flame-diff', 'runs', 'snapshot');
M.api = { ApiError: class extends Error {
  constructor(status, text, field) {
    super(text);
    Object.assign(this, { status, field });
  }
} };
const T = M.flameTree;
const RATES = [52631579, 10101010]; /* ns a sample: 19 and 99 Hz */
const SLOTS = 12, FROM = 1700000000, NAMES = ['a', 'b', 'c', 'Get', 'd.so'];

let seed = 7;
const rnd = (n) => (seed = (seed * 48271) % 2147483647) % n;

/* A slot: null, or [{path, samples, period}]. */
function randomSlot(k) {
  if (k === 3)
    return null;
  return Array.from({ length: k === 5 ? 0 : 1 + rnd(20) }, () => ({
    path: Array.from({ length: 1 + rnd(5) }, () => NAMES[rnd(5)]),
    samples: 1 + rnd(9), period: RATES[k < 6 ? 0 : k === 6 ? rnd(2) : 1] }));
}

/* What flamegraph.json?max-nodes=-1 answers, by the rules of the format. */
function answered(stacks) {
  const make = () => ({ v: [0, 0, 0, 0], kids: new Map() });
  const root = make(), names = ['total'];
  for (const { path, samples, period } of stacks || []) {
    let n = root;
    const add = (self) => [samples * period, samples].forEach((x, i) => {
      n.v[2 * i + self] += x;
    });
    add(0);
    for (const name of path) {
      if (!n.kids.has(name))
        n.kids.set(name, make());
      n = n.kids.get(name);
      add(0);
    }
    add(1);
  }
  const levels = [], counts = [];
  let row = [[0, 0, root]];
  while (row.length) {
    const flat = [], samples = [], next = [];
    let end = 0;
    for (const [id, x, n] of row) {
      flat.push(x - end, n.v[0], n.v[1], id);
      samples.push(n.v[2], n.v[3]);
      end = x + n.v[0];
      let left = x + n.v[1];
      for (const [name, k] of [...n.kids].sort()) {
        if (!names.includes(name))
          names.push(name);
        next.push([names.indexOf(name), left, k]);
        left += k.v[0];
      }
    }
    levels.push(flat);
    counts.push(samples);
    row = next;
  }
  const periods = new Set((stacks || []).map((s) => s.period));
  const period = periods.size === 1 ? [...periods][0] : null;
  return { flamebearer: { names, levels, numTicks: root.v[0], maxSelf: 0 },
    memlens: { unit: 'nanoseconds', units: 'nanoseconds', kind: 'flow',
      slots: stacks ? 1 : 0, samples: root.v[2], total: root.v[0], period,
      kinds: names.map((n) => (n === 'd.so' ? 'library' : 'user')),
      lost: stacks ? { ring_full: 1, none: 0 } : {}, broken: {}, partial: [],
      sample_levels: period ? undefined : counts } };
}

const slots = Array.from({ length: SLOTS }, (_, k) => randomSlot(k));
const pack = new Pack(FROM, 10);
for (const stacks of slots)
  pack.add('cpu', answered(stacks));
const snapshot = JSON.parse(JSON.stringify({ version: 2, from: FROM,
  until: FROM + SLOTS * 10, answers: {}, series: {},
  profiles: pack.finish() }));
const ask = (name, a, b, more) => M.recording.answer(snapshot, name,
  Object.assign({ query: 'cpu', from: FROM + a * 10, until: FROM + b * 10 },
    more));

const within = (a, b) => slots.slice(a, b).filter(Boolean).flat();
const amount = (list, test_ = () => true) => list.filter(test_)
  .reduce((s, x) => s + x.samples * x.period, 0);
const samples = (list, test_ = () => true) => list.filter(test_)
  .reduce((s, x) => s + x.samples, 0);

/* "a;b" -> [amount, samples], each as often as it comes. */
function byStack(list) {
  const out = {};
  for (const s of list) {
    const key = s.path.join(';');
    out[key] = out[key] || [0, 0];
    out[key][0] += s.samples * s.period;
    out[key][1] += s.samples;
  }
  return out;
}

function eachRange(fn) {
  for (let a = 0; a < SLOTS; a++)
    for (let b = a + 1; b <= SLOTS; b++)
      fn(a, b, within(a, b));
}

function stacksOf(f, unit) {
  const out = {};
  for (let i = 1; i < f.n; i++)
    if (f.self[i] > 0)
      out[T.path(f, i).slice(1).map((k) => f.names[f.name[k]]).join(';')] =
        [f.self[i], f.selfSamples ? f.selfSamples[i] : f.self[i] / unit];
  return out;
}

test('a range of which records were lost says that it may lack some', () => {
  const p = new Pack(FROM, 10), said = { incomplete: true, why: 'lost: 3' };
  for (const [stacks, more] of [[[]], [[], said], [null], [slots.find((s) =>
    s && s.length)], [slots.find((s) => s && s.length), said]]) {
    const answer = answered(stacks);
    Object.assign(answer.memlens, { state: stacks ? 'data' : 'no data',
      why: '' }, more);
    p.add('lock', answer);
  }
  const demo = { ...snapshot, profiles: JSON.parse(JSON.stringify(
    p.finish())) };
  const of = (a, b) => {
    const m = M.recording.answer(demo, 'flamegraph.json', { query: 'lock',
      from: FROM + a * 10, until: FROM + b * 10 }).memlens;
    return [m.state, !!m.incomplete, m.why];
  };
  assert.deepEqual(of(0, 1), ['zero', false, '']);
  assert.deepEqual(of(0, 3), ['no data', true, 'lost: 3']);
  assert.deepEqual(of(2, 3), ['no data', false, '']);
  assert.deepEqual(of(2, 4), ['data', false, '']);
  assert.deepEqual(of(2, 5), ['data', true, 'lost: 3']);
});

test('every range of the demo is exact, at any rate', () => {
  eachRange((a, b, list) => {
    const answer = ask('flamegraph.json', a, b), m = answer.memlens;
    const f = T.decode(answer);
    assert.deepEqual(stacksOf(f, m.period), byStack(list));
    assert.equal(f.ticks, amount(list));
    assert.equal(m.samples, m.slots === 0 ? null : samples(list));
    assert.equal(m.total_samples, m.samples);
    assert.equal(m.slots, slots.slice(a, b).filter(Boolean).length);
    assert.equal(m.state, m.slots === 0 ? 'no data'
      : list.length ? 'data' : 'zero');
    assert.equal(m.lost.ring_full || 0, m.slots);
    const periods = new Set(list.map((s) => s.period));
    assert.equal(m.period, periods.size === 1 ? [...periods][0] : null);
  });
});

test('a range between slots is answered for whole ones, and says so', () => {
  const m = M.recording.answer(snapshot, 'flamegraph.json', { query: 'cpu',
    from: FROM + 13, until: FROM + 27 }).memlens;
  assert.deepEqual([m.from, m.until], [FROM + 10, FROM + 30]);
  assert.equal(ask('flamegraph.json', 50, 60).memlens.state, 'no data');
  assert.equal(M.recording.answer(snapshot, 'flamegraph.json',
    { query: 'other' }), undefined);
});

test('tables, searches and sandwiches of every range are exact', () => {
  eachRange((a, b, list) => {
    const t = ask('table.json', a, b, { limit: 100, search: 'GET' });
    const has = (s) => s.path.includes('Get');
    assert.equal(t.matched.amount, amount(list, has));
    assert.equal(t.matched.samples, t.slots === 0 ? null
      : samples(list, has));
    const all = ask('table.json', a, b, { limit: 100 });
    for (const r of all.rows) {
      const on = (s) => s.path.includes(r.name);
      const leaf = (s) => s.path[s.path.length - 1] === r.name;
      assert.deepEqual([r.self, r.total, r.self_samples, r.total_samples],
        [amount(list, leaf), amount(list, on), samples(list, leaf),
          samples(list, on)]);
      assert.equal(r.total_share, r.total / amount(list));
      const s = ask('sandwich.json', a, b, { function: r.name });
      assert.equal(s.callers.flamebearer.numTicks, r.total);
      assert.equal(s.callees.flamebearer.numTicks, r.total);
    }
    assert.equal(all.rows.reduce((s, r) => s + r.self, 0), amount(list));
  });
});

test('focus and ignore leave what has a match, or has none', () => {
  eachRange((a, b, list) => {
    const f = T.decode(ask('flamegraph.json', a, b, { focus: '^Get$',
      ignore: 'so$' }));
    assert.equal(f.ticks, amount(list, (s) => s.path.includes('Get') &&
      !s.path.includes('d.so')));
    const turned = T.decode(ask('flamegraph.json', a, b, { reverse: '1' }));
    assert.deepEqual(stacksOf(turned, ask('flamegraph.json', a, b).memlens
      .period), byStack(list.map((s) => ({ ...s,
      path: s.path.slice().reverse() }))));
  });
  assert.throws(() => ask('flamegraph.json', 0, 1, { focus: '(' }),
    (e) => e.status === 400 && e.field === 'focus');
});

test('one function over time adds up to its row', () => {
  eachRange((a, b, list) => {
    const { over_time: over } = ask('table.json', a, b, { function: 'Get',
      step: 20 });
    assert.equal(over.step, 20);
    assert.equal(over.points.reduce((s, p) => s + (p[2] || 0), 0),
      amount(list, (s) => s.path.includes('Get')));
    for (const [t, self] of over.points) {
      const k = (t - FROM) / 10;
      assert.equal(self === null, slots.slice(k, Math.min(b, k + 2))
        .every((s) => s === null));
    }
  });
});

test('two ranges of different rates compare by time, not by samples', () => {
  const p = { 'from-b': FROM + 70, 'until-b': FROM + 120 };
  const d = ask('diff.json', 0, 3, { ...p, normalise: 'time' });
  const sides = [within(0, 3), within(7, 12)];
  assert.deepEqual([d.leftTicks, d.rightTicks], sides.map((l) => amount(l)));
  for (const r of d.rows) {
    const on = (s) => s.path.includes(r.name);
    assert.deepEqual(r.total, sides.map((l) => amount(l, on)));
    assert.deepEqual(r.total_samples, sides.map((l) => samples(l, on)));
    assert.equal(r.few, r.samples < 100);
    assert.equal(r.total_normalised[1], r.total[1] / 50);
  }
  const found = ask('diff.json', 0, 3, { ...p, search: '/^Get$/' });
  assert.deepEqual(found.rows.map((r) => r.name), ['Get']);
  assert.deepEqual(found.matched.amount, found.rows[0].total);
});

test('series of the demo are gathered as the server does', () => {
  const r = M.recordedSeries.pack({ from: 100, until: 150, step: 10,
    series: [{ name: 'g', labels: {}, fn: 'mean', points: [[100, 1],
      [110, null], [120, 5], [130, 7], [140, null]] },
    { name: 'c', labels: {}, fn: 'increase', points: [[100, 1], [120, 5],
      [130, 7]] }] });
  const points = (p) => M.recordedSeries.answer(JSON.parse(JSON.stringify(r)),
    p).series.map((s) => s.points);
  assert.deepEqual(points({ from: 100, until: 150, step: 20 }),
    [[[100, 1], [120, 6], [140, null]], [[100, 1], [120, 12], [140, null]]]);
  assert.deepEqual(points({ from: 115, until: 139, step: 10 })[0],
    [[110, null], [120, 5]]);
  assert.deepEqual(points({ from: 500, until: 600, step: 10 }), [[], []]);
});

test('the demo compares metrics over both ranges', () => {
  const key = M.request.key('series', { query: 'x', fn: 'mean' });
  const s = { ...snapshot, series: { [key]: M.recordedSeries.pack({
    from: FROM, until: FROM + 120, step: 10, series: [{ name: 'x', labels: {}, unit: '',
      fn: 'mean', points: [[FROM, 1], [FROM + 60, 2]] }] }) } };
  const p = { from: FROM, until: FROM + 60, 'from-b': FROM + 60,
    'until-b': FROM + 120 };
  assert.equal(M.recording.answer(s, 'compare.json', p).rows[0].ratio, 2);
  assert.deepEqual(M.recording.answer(s, 'runs', {}), { runs: [] });
});

/* series of one slot each, or of more; key as a page asks for it */
const recordedOf = (fn, s, counts) => ({ ...snapshot, series: {
  [M.request.key('series', { query: 'x', fn })]: JSON.parse(JSON.stringify(
    M.recordedSeries.pack({ from: FROM, until: FROM + 120, step: 10,
      partial: [], series: [{ name: 'x', labels: {}, unit: '', fn, ...s }] },
    counts && { from: FROM, until: FROM + 120, step: 10, partial: [],
      series: [{ name: 'x', labels: {}, points: counts }] }))) } });
const slotsOf = (...v) => v.map((x, k) => [FROM + 10 * k, x]);
const PAIR = { from: FROM, until: FROM + 60, 'from-b': FROM + 60,
  'until-b': FROM + 120 };

test('a mean of the demo is one of what was measured, not of slots', () => {
  const s = recordedOf('mean', { points: slotsOf(1, 4, null, 10) },
    slotsOf(1, 3, null, 2));
  const at = (step) => M.recording.answer(s, 'series', { query: 'x',
    fn: 'mean', from: FROM, until: FROM + 40, step }).series[0].points
    .map((p) => p[1]);
  assert.deepEqual(at(40), [(1 + 3 * 4 + 2 * 10) / 6]);
  assert.deepEqual(at(20), [13 / 4, 10]);
  assert.equal(M.recording.answer(s, 'compare.json', PAIR).rows[0].value[0],
    33 / 6);
  /* without counts, slots are alike */
  const plain = recordedOf('mean', { points: slotsOf(1, 4) }, slotsOf(2, 2));
  assert.equal(Object.values(plain.series)[0].series[0].n, undefined);
});

test('the demo compares a metric once, as the server does', () => {
  const s = recordedOf('mean', { points: slotsOf(1, 3), better: 'up' },
    slotsOf(1, 1));
  Object.assign(s.series, recordedOf('last', { points: slotsOf(9, 8) })
    .series);
  const p = { ...PAIR, until: FROM + 10, 'from-b': FROM + 10 };
  const { rows } = M.recording.answer(s, 'compare.json', p);
  assert.deepEqual(rows.map((r) => [r.fn, r.value, r.better, r.verdict]),
    [['mean', [1, 3], 'up', 'better']]);
  /* ranges go to whole slots */
  assert.deepEqual(M.recording.answer(s, 'compare.json', { ...p,
    from: FROM + 1, until: FROM + 9 }).rows[0].value, [1, 3]);
  const up = recordedOf('increase', { points: slotsOf(20, 40, 5) });
  const rate = M.recording.answer(up, 'compare.json', p).rows[0];
  assert.deepEqual([rate.fn, rate.unit, rate.value], ['rate', '/s',
    [2, 2.25]]);
});

test('quantiles of a summary are not averaged', () => {
  const s = recordedOf('mean', { labels: { quantile: '0.99' },
    points: slotsOf(1, 9, 2, 3) });
  const r = M.recording.answer(s, 'compare.json', { ...PAIR,
    until: FROM + 20, 'from-b': FROM + 20 }).rows[0];
  assert.deepEqual([r.fn, r.value], ['max', [9, 3]]);
});

/* a recording of single slots: what flamegraph.json says of each */
const about = (m) => ({ flamebearer: { names: ['total'], levels: [[0, 0, 0,
  0]], numTicks: 0 }, memlens: { unit: 'nanoseconds', kind: 'flow', slots: 0,
  samples: null, total: 0, period: null, kinds: ['unknown'], lost: {},
  broken: {}, partial: [], state: 'no data', why: '', faults: 'service',
  ...m } });
const told = (slots_, a, b) => {
  const one = new Pack(FROM, 10);
  for (const m of slots_)
    one.add('cpu', about(m));
  return M.recording.answer(JSON.parse(JSON.stringify({ ...snapshot,
    profiles: one.finish() })), 'flamegraph.json', { query: 'cpu',
    from: FROM + a * 10, until: FROM + b * 10 }).memlens;
};

test('what a slot without data has to tell is kept', () => {
  const list = [{ slots: 1, samples: 0, state: 'zero' },
    { state: 'not attached', why: 'no BPF', lost: { 'ring full': 2 } }, {}];
  const [a, b, c] = [[0, 3], [1, 2], [1, 3]].map((r) => told(list, ...r));
  assert.deepEqual([a.state, a.lost, a.samples], ['zero', { 'ring full': 2 },
    0]);
  assert.deepEqual([b.state, b.why, b.samples], ['not attached', 'no BPF',
    null]);
  assert.deepEqual([c.state, c.why], ['no data', '']);
});

test('damage of a recording is told once, and of the range alone', () => {
  const hole = (k) => ({ state: 'partial', partial: [{ from: FROM + 10 * k,
    until: FROM + 10 * k + 10, why: 'span' }] });
  const list = [hole(0), hole(1), { slots: 1, samples: 0, state: 'zero' },
    hole(3)];
  assert.deepEqual(told(list, 0, 4).partial, [
    { from: FROM, until: FROM + 20, why: 'span' },
    { from: FROM + 30, until: FROM + 40, why: 'span' }]);
  assert.deepEqual([told(list, 1, 2).state, told(list, 2, 3).state],
    ['partial', 'zero']);
  const s = recordedOf('rate', { points: slotsOf(1, 2) });
  Object.assign(Object.values(s.series)[0], { state: 'partial', partial: [
    { from: FROM + 10, until: FROM + 50, why: 'span' }] });
  const ask_ = (a, b) => M.recording.answer(s, 'series', { query: 'x',
    fn: 'rate', from: FROM + a * 10, until: FROM + b * 10 });
  assert.deepEqual([ask_(0, 1).partial, ask_(0, 1).state], [[], undefined]);
  assert.deepEqual([ask_(2, 3).partial, ask_(2, 3).state], [[
    { from: FROM + 20, until: FROM + 30, why: 'span' }], 'partial']);
});

test('faults are the service’s where it was counted, as the API has them',
  () => {
    const own = { lost: { 'held full': 1, 'ring full': 1 },
      broken: { cut: 1 } };
    const host = { faults: 'host', lost: { 'held full': 10,
      'ring full': 10 }, broken: { cut: 10 } };
    const [both, alone] = [told([own, host], 0, 2), told([own, host], 1, 2)];
    assert.deepEqual([both.faults, both.lost, both.broken], ['service',
      { 'held full': 1, 'ring full': 11 }, { cut: 1 }]);
    assert.deepEqual([alone.faults, alone.lost, alone.broken], ['host',
      host.lost, host.broken]);
  });

test('a side of which nobody counts samples leaves none to compare', () => {
  const side = (list, samples_) => {
    const a = answered(list);
    a.memlens.samples = a.memlens.total_samples = samples_;
    if (samples_ === null)
      Object.assign(a.memlens, { period: null, sample_levels: undefined });
    return a;
  };
  const some = [{ path: ['a'], samples: 3, period: RATES[0] }];
  const rows = (n) => M.flameDiff.fromPair(side(some, 3), side([], n),
    'time').rows.map((r) => [r.samples, r.few]);
  assert.deepEqual(rows(null), [[null, null]]);
  assert.deepEqual(rows(0), [[3, true]]);
});

test('callers and callees say of how many samples they are', () => {
  const f = ask('sandwich.json', 6, 7, { function: 'Get' }).function;
  const list = within(6, 7);
  assert.deepEqual([f.self_samples, f.total_samples], [
    samples(list, (s) => s.path[s.path.length - 1] === 'Get'),
    samples(list, (s) => s.path.includes('Get'))]);
  assert.equal(ask('sandwich.json', 3, 4, { function: 'Get' }).function
    .total_samples, null);
});

test('a graph has the costs that were recorded of it, else none', () => {
  const query = 'cpu{service="kv"}', key = (name, p) =>
    M.request.key(name, p);
  const plain = { target: 'kv', nodes: [] }, cost = { ...plain, profile: {} };
  const s = { answers: { [key('graph.json', { depth: '2' })]: plain,
    [key('graph.svg', { depth: '2' })]: '<svg/>',
    [key('graph.json', { depth: '2', query })]: cost,
    [key('graph.svg', { depth: '2', query, plain: 1 })]: '<svg>…</svg>' } };
  const ask = (name, p) => M.recording.answer(s, name, { depth: '2', ...p });
  assert.equal(ask('graph.json', {}), plain);
  assert.equal(ask('graph.json', { query, target: 'kv', node: 'a' }), cost);
  assert.equal(ask('graph.svg', { query, plain: 1 }), '<svg>…</svg>');
  assert.equal(ask('graph.json', { query: 'offcpu' }), plain);
  assert.equal(ask('graph.svg', { query: 'offcpu', plain: 1 }), '<svg/>');
  assert.equal(ask('graph.json', { target: 'other' }), undefined);
  assert.equal(ask('graph.json', { depth: '3', query }), undefined);
  assert.equal(M.recording.hasCost(s, '2', query), true);
  assert.equal(M.recording.hasCost(s, '3', query), false);
  assert.equal(M.recording.hasCost(null, '2', query), false);
});
