/* The dependency graph's geometry and its edges; ranking of services. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'request', 'series', 'panzoom',
  'deps-graph', 'services', 'storage', 'profiles-tab', 'chart');

test('zooming keeps the point under the pointer', () => {
  const box = { x: 10, y: 20, w: 100, h: 50 };
  const z = M.panzoom.zoomed(box, 0.5, 60, 30);
  assert.deepEqual(z, { x: 35, y: 25, w: 50, h: 25 });
  assert.equal((60 - z.x) / z.w, (60 - box.x) / box.w);
});

test('a graph is fitted whole, with the proportions of the window', () => {
  assert.deepEqual(M.panzoom.around({ x: 0, y: 0, w: 100, h: 10 }, 2),
    { x: 0, y: -20, w: 100, h: 50 });
  assert.deepEqual(M.panzoom.around({ x: 0, y: 0, w: 10, h: 100 }, 2),
    { x: -95, y: 0, w: 200, h: 100 });
});

test('a window is about a point, and not further out than it must', () => {
  const home = { x: 0, y: 0, w: 100, h: 50 }, about = M.panzoom.about;
  assert.deepEqual(about(home, 20, 10, [50, 25]), { x: 40, y: 20, w: 20,
    h: 10 });
  assert.deepEqual(about(home, 20, 10, [3, 0]), { x: 0, y: 0, w: 20, h: 10 });
  assert.deepEqual(about(home, 20, 10, [99, 49]), { x: 80, y: 40, w: 20,
    h: 10 });
  assert.deepEqual(about(home, 20, 90, [50, 0]), { x: 40, y: -20, w: 20,
    h: 90 });
});

test('edges are read in three spellings', () => {
  assert.deepEqual(M.depsGraph.edgesOf({ edges: [['a', 'b'],
    { from: 'c', to: 'd' }, { source: 'e', target: 'f' }] }),
  [['a', 'b'], ['c', 'd'], ['e', 'f']]);
  assert.deepEqual(M.depsGraph.edgesOf(null), []);
});

test('databases come first, then the busiest', () => {
  const names = ['idle', 'busy', 'db'].map((name) => ({ name }));
  assert.deepEqual(M.services.rank(names, new Set(['db']),
    { busy: 2, db: 0.1 }).map((s) => s.name), ['db', 'busy', 'idle']);
});

test('replicas that agree in rounds are a database', async () => {
  M.mode = { current: 'live' };
  M.api = { get: async () => ({ services: ['idle', 'replica'].map((name) =>
    ({ name })) }), series: async (table) => Object.fromEntries(table.map(
    ({ key, query }) => [key, { cols: /^pbft_rounds_total/.test(query)
      ? [{ labels: { service: 'replica' } }] : [] }])) };
  const list = await M.services.load({ from: 0, until: 60, slot: 10 });
  assert.deepEqual(list.map((s) => s.label), ['replica (database)', 'idle']);
});

test('the host is busy where it is neither idle nor waiting', () => {
  const idle = (cpu, mode, v) => ({ labels: { cpu, mode }, unit: '',
    t: [0, 10], v });
  const r = M.profilesTab.hostBusy([idle('0', 'idle', [0.5, null]),
    idle('0', 'iowait', [0.1, null]), idle('1', 'idle', [1, null])]);
  assert.equal(r.cpus, 2);
  assert.ok(Math.abs(r.busy.v[0] - 0.4) < 1e-9);
  assert.equal(r.busy.v[1], null);
  assert.equal(M.profilesTab.hostBusy([]).busy, null);
});

test('levels are rows; what a level lacks is no data, not 0', () => {
  const col = (level, v) => ({ labels: { level }, unit: '', t: [0, 10], v });
  const none = { cols: [] };
  const rows = M.storage.levels({ files: { cols: [col('10', [1, 2]),
    col('2', [3, 3])] }, size: none, compaction: { cols: [
    col('2', [1, 4])] }, levelRead: none, levelWrite: none });
  assert.deepEqual(rows.map((r) => [r.level, r.files, r.compaction, r.size]),
    [['2', 3, 5, null], ['10', 2, null, null]]);
});

test('the root of a graph is its level 0, then its target', () => {
  const root = M.depsGraph.rootOf;
  assert.equal(root({ target: 't', nodes: [{ id: 'x', level: 1 },
    { id: 'y', level: 0 }] }), 'y');
  assert.equal(root({ target: 't', nodes: [{ id: 'x' }, { id: 't' }] }), 't');
  assert.equal(root({}), '');
});

test('gaps are where no line has a value, the unmeasured start too', () => {
  const g = M.chart.gaps;
  const times = [20, 30, 40, 50, 60, 70];
  assert.deepEqual(g([0, 80], times, [[1, null, null, 1, 1, 1],
    [null, null, 0, 1, 1, 1]]), [[0, 20], [30, 40]]);
  assert.deepEqual(g([20, 80], times, [[1, 1, 1, 1, 1, null]]), []);
  assert.deepEqual(g([20, 200], times, [[1, 1, 1, null, null, null]]),
    [[50, 200]]);
  assert.deepEqual(g([0, 80], [], [[]]), [[0, 80]]);
});

/* The default was the scraped target: what was measured of the processes
 * was "no data". */
test('each card has an instance with data of it', () => {
  const T = M.storage;
  const a = (...names) => ({ state: 'data', error: null, cols: names.map((n) =>
    ({ labels: { instance: n }, unit: '', t: [0], v: [1] })) });
  const none = { files: a(), size: a(), compaction: a(), levelRead: a(),
    levelWrite: a(), writeOne: a(), write: a() };
  const group = { state: 'data', cols: [{ labels: { groupname: 's' },
    unit: '', t: [0], v: [3] }] };
  const r = { ...none, up: a('h:9'), hit: a('h:9'), memory: a('h:9'),
    rss: group, read: group, rssOne: a(':1', ':2', ':3'),
    readOne: a(':1', ':2', ':3') };
  assert.equal(T.chosen(r, ''), T.EACH);
  const shown = T.only(r, T.EACH);
  assert.deepEqual(shown.hit.cols.map((c) => c.labels.instance), ['h:9']);
  assert.deepEqual([shown.rss, shown.read], [group, group]);
  assert.equal(T.whose(r, T.EACH, ['hit']), 'h:9');
  assert.equal(T.whose(r, T.EACH, ['rss']), 'sum of 3 processes');
  assert.equal(T.chosen(r, 'h:9'), 'h:9', 'who chooses it has it');
  /* two engines, one of which has processes: it has all that there is */
  const two = { ...r, up: a('h:9', 'h:2'), hit: a('h:9', 'h:2'),
    memory: a('h:9', 'h:2'), rssOne: a(':2', '#1'), readOne: a(':2') };
  assert.equal(T.chosen(two, ''), 'h:2');
  assert.deepEqual(T.only(two, 'h:2').rss.cols.map((c) =>
    c.labels.instance), [':2']);
  /* what has no value has no data */
  const ended = a(':2');
  ended.cols[0].v = [null];
  assert.equal(T.chosen({ ...two, readOne: ended, read: a() }, ''), 'h:2');
});

/* The host's total was 200 %, its user and system 172.5 %. */
test('what a host’s CPUs do adds up to their total', () => {
  const modes = { user: [1.038, 1], system: [0.687, null], nice: [0.28, 0.1],
    irq: [0.001, 0.2], softirq: [0.004, 0], steal: [0.01, null] };
  const [total, ...parts] = M.profilesTab.parts(Object.entries(modes).map(
    ([mode, v]) => ({ labels: { mode, cpu: '0' }, unit: '', t: [0, 10], v })));
  assert.equal(parts.length, 4);
  for (const k of [0, 1])
    assert.ok(Math.abs(total.v[k] - parts.reduce((sum, c) => sum + c.v[k],
      0)) < 1e-9);
  assert.ok(Math.abs(total.v[0] - 2.02) < 1e-9);
  assert.deepEqual(M.profilesTab.parts([{ labels: { mode: 'user' }, unit: '',
    t: [0], v: [1] }]).map((c) => c && c.v[0]), [1, 1, null, null, null]);
});

/* Three databases under one rule were one number. */
test('instances are chosen, a sum is chosen too', () => {
  const T = M.storage;
  const a = (...names) => ({ state: 'data', error: null, cols: names.map((n) =>
    ({ labels: { instance: n }, unit: '', t: [0], v: [n.length] })) });
  const r = { up: a('h:1', 'h:2'), hit: a('h:1', 'h:2'), memory: a('h:1'),
    files: a(), size: a(), compaction: a(), levelRead: a(), levelWrite: a(),
    rss: a(), read: a(), write: a(), rssOne: a(':1', ':2', '#1'),
    readOne: a(':1'), writeOne: a() };
  const list = T.instances(r);
  assert.deepEqual(list, ['h:1', 'h:2', '#1']);
  assert.equal(T.chosen(r, ''), 'h:1');
  assert.equal(T.chosen(r, 'h:2'), 'h:2');
  assert.equal(T.chosen(r, T.SUM), T.SUM);
  assert.equal(T.chosen(Object.assign({}, r, { up: a('h:1'), hit: a('h:1'),
    rssOne: a(), readOne: a() }), T.SUM), '', 'nothing to choose');
  const one = T.only(r, 'h:2');
  assert.deepEqual(one.hit.cols.map((c) => c.labels.instance), ['h:2']);
  assert.deepEqual(one.rss.cols.map((c) => c.labels.instance), [':2']);
  assert.deepEqual(T.only(r, '#1').rss.cols.map((c) => c.labels.instance),
    ['#1']);
  assert.equal(T.only(r, T.SUM), r);
  /* statistics on a port of their own */
  const two = Object.assign({}, r, { up: a('h:9'), hit: a('h:9'),
    memory: a('h:9'), rssOne: a('#1', ':7'), readOne: a(':7') });
  assert.deepEqual(T.instances(two), ['h:9', '#1']);
  assert.deepEqual(T.only(two, 'h:9').rss.cols.map((c) =>
    c.labels.instance), [':7']);
});
