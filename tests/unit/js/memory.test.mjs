/* The tab Memory: what it makes of answers. */
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'series', 'request', 'colour',
  'flame-tree', 'flame-facts', 'flame-diff', 'flame-answers', 'runs',
  'allocators', 'types', 'recorded-profiles', 'resident', 'leaks',
  'lifetimes');

const column = (labels, v, t = [0, 10, 20]) => ({ labels, unit: 'bytes', t,
  v });

test('the line that starts a heap profile is that of the allocator', () => {
  const who = { service: 'my db', command: '/usr/bin/db',
    origin: 'http://localhost:8080' };
  const of = (...names) => M.allocators.advice(names, who);
  assert.equal(of('glibc').start, 'memlens run -- /usr/bin/db');
  assert.match(of('glibc', 'jemalloc').start, /^MALLOC_CONF=prof:true,.*prof_prefix:\/var\/lib\/my_db\/jp \/usr\/bin\/db$/);
  assert.equal(of('jemalloc').pull, '[target my_db]\ndumps = ' +
    '/var/lib/my_db/jp');
  assert.match(of('tcmalloc').start, /^HEAPPROFILE=/);
  assert.match(of().found, /not known/);
  assert.equal(of('musl').start, 'memlens run -- /usr/bin/db');
  assert.equal(of('go').start, '');
  assert.match(of('go').pull, /^\[target my_db\]\nprofile = .*\/heap$/);
  assert.match(of('java').start, /NAME=my_db .*localhost:8080 \/usr\/bin\/db$/);
  assert.deepEqual([of('static').start, of('static').pull], ['', '']);
  assert.match(of('static').note, /statically/);
});

test('allocators of a service: those of most processes first', () => {
  assert.deepEqual(M.allocators.names([column({ allocator: 'glibc' },
    [1, 1, null]), column({ allocator: 'jemalloc' }, [0, 3, 3]),
  column({ allocator: 'tcmalloc' }, [2, 0, 0])]), ['jemalloc', 'glibc']);
});

test('kinds of a service add up by kind, what is not there is null', () => {
  const k = M.resident.kinds({ memory: { cols: [
    column({ memtype: 'anonymous', instance: 'a' }, [1, 2, null]),
    column({ memtype: 'anonymous', instance: 'b' }, [10, null, null]),
    column({ memtype: 'file' }, [5, 5, 5])] } }, 'db');
  assert.deepEqual(k.anonymous.v, [11, 2, null]);
  assert.deepEqual([k.file.v, k.swapped], [[5, 5, 5], null]);
});

test('kinds of the host: pages of files without those of shared memory',
  () => {
    const r = {};
    for (const [key, v] of Object.entries({ AnonPages: 7, Cached: 9, Shmem: 2,
      SwapTotal: 4 }))
      r[key] = { cols: [column({}, [v, v, v])] };
    r.SwapFree = { cols: [] };
    const k = M.resident.kinds(r, '');
    assert.deepEqual([k.file.v[0], k.anonymous.v[0], k.swapped], [7, 7,
      null]);
  });

test('live stands between two pulls, and no longer', () => {
  const leaks = { heap: true, step: 10, total: { points: [[0, 4], [10, null],
    [20, 6]] } };
  const resident = column({}, [10, 10, 10, 10], [0, 10, 20, 200]);
  const [live, rest] = M.resident.heap(leaks, resident);
  assert.deepEqual(live.v, [4, 4, 6, null]);
  assert.deepEqual(rest.v, [6, 6, 4, null]);
  assert.deepEqual(M.resident.heap({ ...leaks, heap: false }, resident),
    [null, null]);
});

test('what a program says of its allocator: the first name, all of it', () => {
  const named = (name, v) => ({ ...column({}, v), name });
  const cols = [named('go_memstats_heap_alloc_bytes', [1, 1, 1]),
    named('db_jemalloc_allocated_bytes', [5, 6, null]),
    named('db_jemalloc_allocated_bytes', [10, null, null]),
    named('db_jemalloc_allocated_ratio', [7, 7, 7])];
  assert.deepEqual(M.resident.own(cols).v, [15, 6, null]);
  assert.equal(M.resident.own([named('my_malloc_count', [1, 1, 1])]), null);
  assert.equal(M.resident.own([]), null);
  const [live, rest] = M.resident.heap(null, column({}, [20, 20, 20]),
    M.resident.own(cols));
  assert.deepEqual([live, rest.v], [null, [5, 14, null]]);
});

test('types of memory: what is in use first', () => {
  const t = (name, kind, unit, group = 'memory') => ({ name, kind, unit,
    pyroscope: group + ':' + name });
  assert.deepEqual(M.types.ofMemory([t('cpu', 'flow', 'ns', 'process_cpu'),
    t('faults', 'flow', 'bytes'), t('inuse_objects', 'stock', 'count'),
    t('inuse_space', 'stock', 'bytes'), { name: 'foreign' }])
    .map((x) => x.name), ['inuse_space', 'inuse_objects', 'faults']);
});

test('the ends of a range: a tenth each, and room for a pull', () => {
  const pair = (from, until) => M.runs.pair({ base: 'ends', afrom: '',
    auntil: '' }, { from, until, slot: 10 }, 0, until);
  assert.deepEqual(pair(0, 3600), { a: { from: 0, until: 360 },
    b: { from: 3240, until: 3600 }, ends: true });
  assert.deepEqual(pair(0, 300), { a: { from: 0, until: 90 },
    b: { from: 210, until: 300 }, ends: true });
  assert.deepEqual(pair(0, 60).b, { from: 30, until: 60 });
});

test('a recorded stock averages over time, a difference of it is as it is',
  () => {
    const slot = (a, b) => ({ period: 1, nodes: [1, a, 1, b] });
    const p = { slot: 10, from: 0, names: ['total', 'keeps', 'leaks'],
      kinds: '?uu', tree: [0, 0, 1, 1, 2, 2], of: { inuse_space: { about: {
        unit: 'bytes', kind: 'stock' }, slots: [slot(10, 1), null,
        slot(10, 4)] } } };
    const ask = (from, until) => M.recordedProfiles.ask(p, { query:
      'inuse_space', from, until });
    assert.equal(ask(0, 30).memlens.total, 12);
    const sides = [ask(0, 10), ask(20, 30)].map(({ f, memlens }) => ({
      flamebearer: M.flameTree.encode(f), memlens, metadata: {} }));
    const d = M.flameDiff.fromPair(...sides, 'time');
    assert.deepEqual(d.rows.map((r) => [r.name, r.self_difference]),
      [['leaks', 3], ['keeps', 0]]);
    assert.match(d.words, /as they are/);
    assert.equal(M.recordedProfiles.overTime(p, { query: 'inuse_space',
      from: 0, until: 30, step: 30, function: 'leaks' }).points[0][1], 2.5);
  });

test('what is said of lifetimes', () => {
  /* a range of a minute that has data of ten seconds */
  const a = { state: 'data', from: 0, until: 60, seconds: 10, elsewhere: 0,
    allocated: 2 ** 20 * 100, short: 2 ** 20 * 75, kept: 2 ** 20 * 25,
    objects: 2 ** 20 };
  assert.equal(M.lifetimes.words(a), '10 MiB/s allocated, 100 B an object; ' +
    '75 % of it did not outlive its slot, 25 MiB did.');
  assert.equal(M.lifetimes.words({ ...a, short: null }), '');
  assert.equal(M.lifetimes.words({ ...a, allocated: 0, short: 0, kept: 0,
    objects: 0 }), 'Nothing was allocated.');
  assert.match(M.lifetimes.words({ ...a, elsewhere: 2 ** 20 }),
    /pulled or pushed have 1(\.0)? MiB, whose lives are not known\.$/);
  assert.equal(M.lifetimes.words({ state: 'no data' }), '');
  assert.equal(M.lifetimes.words(null), '');
});

test('what is lost of lifetimes, and who is not observed, is said', () => {
  const a = { state: 'data', seconds: 10, elsewhere: 0, allocated: 2 ** 20,
    short: 2 ** 19, kept: 2 ** 19, objects: 0, incomplete: true,
    faults: 'service', lost: { 'ring full': 5 }, lost_on_host: {
      'ring full': 5 }, lost_bytes: { 'ring full': 2 ** 21 },
    lost_bytes_on_host: { 'ring full': 2 ** 21 }, observed: { processes: 0.5,
      resident: 0.25 } };
  assert.match(M.lifetimes.words(a), new RegExp('Lost, and in none of it: 5 ' +
    'ring full on the host, at most 2(\\.0)? MiB\\. It is 25(\\.0)? % of its ' +
    'resident memory that is observed\\.$'));
  assert.match(M.lifetimes.words({ ...a, state: 'no data', allocated: 0 }),
    /^Nothing was seen\. Lost, and in none of it: 5 ring full/);
});

test('a trend that restarts leave unknown says that it is by them', () => {
  const trend = { state: 'unknown', slope: null, restarted: 1600000030,
    restarts: 9, why: 'the program was restarted more often than every 6 ' +
      'steps: no start of it has as many' };
  const a = { by: 'inuse_space', heap: true, total: trend, resident: trend,
    plateaus: 0, with_load: 0, memory_ends: null, suspects: [], observed: {
      processes: 0.5, resident: 0.25 } };
  assert.match(M.leaks.words(a), /was restarted 9 times, the last time at /);
  assert.match(M.leaks.words(a), /no start of it has the 6 moments/);
  assert.doesNotMatch(M.leaks.words(a), /is judged since then/);
  assert.match(M.leaks.words(a), /25(\.0)? % of its resident memory that is/);
  assert.match(M.leaks.none(a), /^Restarted too often to tell.*narrower/);
  assert.match(M.leaks.none({ ...a, total: { ...trend, restarts: 0, why:
    'fewer than 6 steps have data' } }), /wider range/);
});

test('of one instance all is asked of it', () => {
  const of = (...who) => Object.fromEntries(M.resident.queries(...who).map(
    (q) => [q.key, q.query]));
  assert.match(of('db', 'two').memory,
    /^memlens_instance_memory_bytes\{service="db",instance="two",memtype=~/);
  assert.match(of('db', '').memory,
    /^namedprocess_namegroup_memory_bytes\{service="db",memtype=~/);
});

test('what is read once a minute says when', () => {
  const pss = column({}, [1, 2, null]), at = (v) => column({}, v);
  assert.match(M.resident.readAt([at([1600000000, 1600000061.5, null])], pss),
    /was read at 2020-09-1\d \d\d:\d\d:41/);
  assert.equal(M.resident.readAt([at([1, null, null])], pss), '');
  assert.equal(M.resident.readAt(undefined, pss), '');
  assert.equal(M.resident.readAt([at([1, 2, 3])], null), '');
});

test('who asked for memory is no allocator and no container', () => {
  const at = (...stack) => stack[M.leaks.inner(stack)];
  assert.equal(at('main', 'db::read(int)', 'std::vector<int>::reserve()',
    'operator new(unsigned long)', '[malloc of 4 KiB to 8 KiB]'),
  'db::read(int)');
  assert.equal(at('main', 'load', 'void std::f<int>()', 'malloc'), 'load');
  assert.equal(at('main', 'mallocate'), 'mallocate');
  assert.equal(at('[a]', '[b]'), '[b]');
  assert.equal(at('operator new(unsigned long)', '[x]'),
    'operator new(unsigned long)');
  assert.equal(M.leaks.where(['main', 'load', 'malloc'], 1),
    '→ malloc ← main');
});

test('what is said of leaks', () => {
  const trend = { state: 'growing', slope: 2 ** 20, slope_low: 2 ** 19,
    slope_high: 2 ** 21 };
  const a = { by: 'faults', heap: false, total: trend, resident: trend,
    plateaus: 2, with_load: 0, memory_ends: null, suspects: [trend] };
  assert.equal(M.leaks.words(a), 'There is no heap profile: these stacks ' +
    'touch memory anew while what is resident grows; what was given back is ' +
    'not known. Resident memory grows by 60 MiB/min (30 MiB/min to 120 ' +
    'MiB/min). 2 stacks have grown and stopped: no suspects.');
  assert.match(M.leaks.words({ ...a, unseen: true }), new RegExp('^What ' +
    'grows is not in the heap profile, .*: these stacks touch memory anew'));
  assert.match(M.leaks.words({ ...a, heap: true, unseen: true, suspects: [] }),
    /not in the heap profile, .*: which code touches it is not known\./);
  assert.match(M.leaks.words({ ...a, suspects: [] }), /only what is resident/);
  assert.match(M.leaks.none({ by: 'no data' }), /^No data/);
  assert.deepEqual(M.leaks.rates({ slope: 100, slope_low: 10,
    slope_high: 2 ** 20 })[0], '352 KiB/h');
});

test('what is said of all does not contradict the stacks', () => {
  const steady = { state: 'steady', slope: 1, slope_low: -9, slope_high: 9 };
  const grows = { state: 'growing', slope: 2 ** 20, slope_low: 2 ** 19,
    slope_high: 2 ** 21 };
  const a = { by: 'inuse_space', heap: true, total: steady, resident: grows,
    plateaus: 0, with_load: 0, suspects: [grows], anew: 1600000000,
    memory_ends: { of: 'host', by: 'resident', available: 2 ** 30, slope: 1,
      seconds: 60, at: 1600000060, earliest: 1600000050 } };
  const said = M.leaks.words(a);
  assert.doesNotMatch(said, /does not grow/);
  assert.match(said, /goes up and down by more than it grows; one stack of it grows\. Resident memory grows by 60 MiB\/min/);
  assert.match(said, /At the rate of resident memory the memory of the host/);
  assert.doesNotMatch(said, /at the latest|that it does not/);
  const ends = (latest) => M.leaks.words({ ...a, memory_ends:
    { ...a.memory_ends, latest } });
  assert.match(ends(1600000090), /at the earliest .*, at the latest .*\./);
  assert.match(ends(null), /and it may be that it does not\./);
  assert.match(said, /^MemLens began anew at .*\[before MemLens started\]/);
  assert.match(M.leaks.words({ ...a, suspects: [], memory_ends: null }),
    /Memory in use does not grow\./);
  assert.doesNotMatch(said, /sample/);
  assert.match(M.leaks.words({ ...a, sampling: 65536 }),
    /one sample in 64(\.0)? KiB\.$/);
  assert.match(M.leaks.words({ ...a, sampling: 1 }), /allocation is counted/);
  assert.match(M.leaks.words({ ...a, sampling: null }),
    /not told.*one sample in 512 KiB/);
  assert.match(M.leaks.none({ ...a, suspects: [] }), /since MemLens began/);
  assert.doesNotMatch(said, /lost|restarted/);
  assert.match(M.leaks.words({ ...a, lost: 3 * 2 ** 20 }),
    /3(\.0)? MiB of it came from .*\[its stack was not taken\]/);
  assert.match(M.leaks.words({ ...a, total: { ...steady,
    restarted: 1600000030 } }), /Its program was restarted at /);
});
