/* Several services at once, fault runs, and what files take: pure parts. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'series', 'request', 'runs',
  'pbft-rounds', 'instances', 'overview', 'views', 'url-state', 'ab-bar', 'folders', 'fault',
  'services-tab', 'runs-tab', 'dom', 'spark');

const col = (labels, v, from = 100, step = 10) => ({ labels,
  t: v.map((_, i) => from + i * step), v });
const result = (cols, step = 10) => ({ cols, step, error: null });
const none = result([]);
const kv = (instance) => ({ service: 'kv', instance });

test('a line for each instance, and other services by CPU', () => {
  const r = { cpuOne: result([
    col(Object.assign({ mode: 'user' }, kv(':2003')), [0.1, 0.2]),
    col(Object.assign({ mode: 'system' }, kv(':2003')), [0.1, 0.05]),
    col(kv(':10004'), [0.5, null])]),
  memoryOne: result([col(kv(':10004'), [9, null]), col(kv(':2003'), [1, 2])]),
  cpu: result([col({ groupname: 'x', service: 'x' }, [1, 1]),
    col({ groupname: 'y', service: 'y' }, [2, 2]),
    col({ groupname: 'kv', service: 'kv' }, [3, 3])]),
  memory: result(['x', 'y', 'kv'].map((service) =>
    col({ groupname: service, service }, [5, 6]))) };
  const near = { alive: r.memoryOne, rounds: none, here: r.memory };
  const { ruled, others } = M.overview.rows(r, near, [], 120);
  assert.deepEqual(ruled.map((x) => x.instance), [':2003', ':10004']);
  assert.equal(ruled[0].cpuNow, 0.25, 'modes add up');
  assert.equal(ruled[0].memoryNow, 2);
  assert.equal(ruled[0].rate, null, 'no PBFT is not 0 rounds');
  assert.deepEqual(others.map((x) => x.service), ['y', 'x']);
  assert.ok(ruled.concat(others).every((x) => x.state.level === 'runs'));
});

const state = (instance, v, more = {}) => col(Object.assign({
  state: 'execute' }, kv(instance), more), v);
const minute = (f) => Array.from({ length: 12 }, (_, i) => f(i));
/* A mark as the server tells it. */
const end = (time, instance, words, trouble = true) => ({ time, service: 'kv',
  what: trouble ? 'ended' : 'stopped', text: '7 kv ' + instance, end: words,
  trouble });
/* Rounds as a `near` answer. */
const near = (alive, rounds) => ({ here: none, rounds,
  alive: result(alive) });
const empty = { cpuOne: none, cpu: none, memory: none, memoryOne: none };

test('replicas: who executes, who is silent, who is gone and how', () => {
  const alive = [col(kv(':1'), minute(() => 7)), col(kv(':2'),
    minute(() => 7)), col(kv(':3'), minute((i) => (i < 6 ? 7 : null)))];
  const rounds = result([state(':1', minute(() => 20)),
    state(':2', minute((i) => (i < 4 ? 20 : 0))),
    state(':3', minute((i) => (i < 6 ? 20 : null)))]);
  const marks = [{ time: 155, what: 'began', service: 'kv', text: '1 kv :3' },
    end(161.5, ':3', 'ended (signal 9)'),
    end(200, ':33', 'ended (signal 1)')];
  const { ruled } = M.overview.rows(empty, near(alive, rounds), marks, 220);
  assert.deepEqual(ruled.map((x) => x.state.level), ['ok', 'silent', 'gone']);
  assert.deepEqual(ruled.map((x) => x.rate), [2, 0, null]);
  assert.deepEqual(ruled.map((x) => x.missed), [0, 160, 120]);
  assert.equal(ruled[1].state.since, 140);
  assert.deepEqual([ruled[2].state.since, ruled[2].state.end],
    [161.5, 'ended (signal 9)']);
  assert.match(M.servicesTab.words(ruled[2].state), /^ended \(signal 9\) at /);
  assert.match(M.servicesTab.summary({ ruled }),
    /^1 of 3 is well; kv :2: silent since .*; kv :3: ended/);
  assert.match(M.servicesTab.summary({ ruled: [...ruled,
    ...Array(9).fill(ruled[2])] }),
  /^1 of 12 is well; (kv :\d: [^;]*; ){4}kv :3: [^;]* and 6 more\.$/);
  assert.match(M.servicesTab.summary({ ruled: [] }), /named by a rule/);
});

/* Over a day a step is minutes long, and who had died in it ran. */
test('states and lags are those at the end, however long the range is', () => {
  const rounds = result([state(':1', minute(() => 20)),
    state(':2', minute((i) => (i < 3 || i > 5 ? 20 : null)))]);
  const alive = [col(kv(':1'), minute(() => 7)),
    col(kv(':2'), minute(() => 7)),
    col(kv(':3'), minute((i) => (i < 3 ? 7 : null)))];
  const day = result([1, 2, 3, 4].map((i) => col(kv(':' + i),
    [i === 4 ? 5 : 7, i === 4 ? null : 7], -86180, 43200)), 43200);
  const of = (memoryOne) => M.overview.rows(Object.assign({}, empty,
    { memoryOne }), near(alive, rounds), [], 220).ruled
    .map((x) => [x.instance, x.state.level, x.state.since, x.missed]);
  const want = [[':1', 'ok', null, 0], [':2', 'missed', null, 60],
    [':3', 'gone', 130, null]];
  assert.deepEqual(of(result(alive)), want);
  assert.deepEqual(of(day), want.concat([[':4', 'gone', null, null]]));
});

test('an end is told at once, until something comes after it', () => {
  const marks = [end(212.5, ':3', 'ended (signal 9)')];
  const of = (v) => M.overview.rows(empty, near([col(kv(':3'), v)], none),
    marks, 220).ruled[0].state;
  assert.deepEqual([of(minute(() => 7)).level, of(minute(() => 7)).since],
    ['gone', 212.5]);
  const later = M.overview.rows(empty, near([col(kv(':3'), minute(() => 7)
    .concat(7))], none), marks, 230).ruled[0].state;
  assert.equal(later.level, 'runs', 'its beginning is told later');
});

/* Its counters may be read on, as zeros. */
test('what died is dead, though no rounds are told of it after its end', () => {
  const marks = [end(161.5, ':3', 'ended (signal 9)')];
  const rounds = (after) => result([state(':1', minute(() => 20)),
    state(':3', minute((i) => (i < 6 ? 20 : after)))]);
  const alive = [col(kv(':1'), minute(() => 7)),
    col(kv(':3'), minute((i) => (i < 6 ? 7 : null)))];
  const of = (after) => M.overview.rows(empty, near(alive, rounds(after)),
    marks, 220).ruled[1].state;
  assert.deepEqual([of(0).level, of(0).since, of(0).end],
    ['gone', 161.5, 'ended (signal 9)']);
  assert.equal(of(20).level, 'ok', 'who executes has come back');
});

test('what was stopped on purpose is neither well nor trouble', () => {
  const alive = [col(kv(':1'), minute(() => 7)),
    col(kv(':3'), minute((i) => (i < 6 ? 7 : null)))];
  const rounds = result([state(':1', minute(() => 20)),
    state(':3', minute((i) => (i < 6 ? 20 : null)))]);
  const marks = [end(161.5, ':3', 'was stopped (signal 15)', false)];
  const { ruled } = M.overview.rows(empty, near(alive, rounds), marks, 220);
  assert.deepEqual(ruled.map((x) => x.state.level), ['ok', 'stopped']);
  assert.deepEqual([ruled[1].rate, ruled[1].cpuNow, ruled[1].memoryNow],
    [null, null, null]);
  assert.match(M.servicesTab.summary({ ruled }), new RegExp('^1 of 2 is ' +
    'well, 1 was stopped on purpose; kv :3: was stopped \\(signal 15\\) at '));
  assert.deepEqual(ruled.map((x) => M.instances.isTrouble(x.state)),
    [false, false]);
});

/* Steps are 10 s, slots 2 s. */
test('since when is the end of a slot, where slots are shorter', () => {
  const alive = [col(kv(':1'), minute(() => 7)), col(kv(':2'),
    minute(() => 7)), col(kv(':3'), minute((i) => (i < 6 ? 7 : null))),
  col(kv(':4'), minute(() => 7))];
  const commits = col(Object.assign({ state: 'commit' }, kv(':4')),
    minute(() => 20));
  const rounds = result([state(':1', minute(() => 20)),
    state(':2', minute((i) => (i < 4 ? 20 : 0))), commits,
    state(':4', minute((i) => (i < 3 ? 20 : 0)))]);
  const all = near(alive, rounds);
  assert.deepEqual(M.instances.unclear(all, [], 220, 10), []);
  const ranges = M.instances.unclear(all, [], 220, 2);
  assert.deepEqual(ranges, [160, 140, 130].map((until) => ({
    from: until - 10, until, step: 2 })));
  const slots = (i, v, from, more) => col(Object.assign({}, kv(i), more), v,
    from, 2);
  const execute = { state: 'execute' };
  all.fine = [[150, [slots(':3', [7, 7, null, null, null], 150)], []],
    [130, [slots(':2', [7, 7, 7, 7, 7], 130)],
      [slots(':2', [4, 4, 1, 0, 0], 130, execute),
        slots(':1', [4, 4, 4, 4, 4], 130, execute)]],
    [120, [], [slots(':4', [4, 0, 0, 0, 0], 120, execute),
      slots(':4', [4, 4, 4, 4, 4], 120, { state: 'commit' })]]]
    .map(([, a, r]) => ({ alive: result(a, 2), rounds: result(r, 2) }));
  const { ruled } = M.overview.rows(empty, all, [], 220);
  assert.deepEqual(ruled.map((x) => [x.state.level, x.state.since]),
    [['ok', null], ['silent', 136], ['gone', 154], ['stuck', 122]]);
  all.fine = [];
  assert.deepEqual(M.overview.rows(empty, all, [], 220).ruled
    .map((x) => x.state.since), [null, 140, 160, 130]);
});

test('a number that a program had before it listened did not die', () => {
  const alive = [col(kv('#1'), minute((i) => (i < 2 ? 7 : null))),
    col(kv('#2'), minute((i) => (i < 2 ? 7 : null))),
    col(kv(':3'), minute((i) => (i < 2 ? null : 7)))];
  const marks = [{ time: 100, what: 'began', service: 'kv', text: '7 kv #1' },
    end(120, '#2', 'ended (signal 6)'),
    { time: 121, what: 'listens', service: 'kv', text: '7 kv :3 #1' }];
  const { ruled } = M.overview.rows(empty, near(alive, none), marks, 220);
  assert.deepEqual(ruled.map((x) => [x.instance, x.state.level]),
    [[':3', 'runs'], ['#2', 'gone']]);
});

test('replicas that no rule names are seen by their rounds', () => {
  const rounds = result([state(':1', minute(() => 20))]);
  const { ruled } = M.overview.rows(empty, near([], rounds), [], 220);
  assert.deepEqual(ruled.map((x) => x.state.level), ['ok']);
  assert.equal(M.servicesTab.words(ruled[0].state), 'executes');
});

/* Where slots are shorter than steps, these moved with the present. */
test('what is said of a time does not depend on when it is asked', () => {
  for (const until of [4000, 4002, 4004, 4008]) {
    const { from, step } = M.instances.range(until, 2);
    assert.deepEqual([from % 10, step, until - from < 3610], [0, 10, true]);
  }
  assert.deepEqual(M.instances.range(4000, 7), { from: 392, until: 4000,
    step: 14 });
  /* The last step has two seconds yet: its rounds are no rate. */
  const rounds = result([state(':1', minute((i) => (i < 11 ? 20 : 4)))]);
  const of = M.instances.at({ alive: none, rounds }, [], 212);
  assert.equal(of.one(of.keys[0]).rate, 2);
  assert.equal(M.pbftRounds.rate(of.clusters[0], { step: 10, until: 212 })
    .v.pop(), null);
});

test('what a fault has changed: rates, p99, who fell silent', () => {
  const side = (executed, p99, seconds) => ({ seconds,
    rounds: { step: seconds, until: seconds, series: Object.entries(executed)
      .map(([i, v]) => ({ labels: Object.assign({ state: 'execute' }, kv(i)),
        points: [[0, v]] })) },
    phases: { columns: ['t', 'p50', 'p99', 'count'], series:
      Object.entries(p99).map(([i, v]) => ({ labels: Object.assign({
        phase: 'commit' }, kv(i)), points: [[0, v / 2, v, 5]] })) } });
  const rows = M.overview.fault([
    side({ ':1': 600, ':3': 600 }, { ':1': 0.02, ':3': 0.03 }, 60),
    side({ ':1': 400, ':3': 0 }, { ':1': 0.05 }, 50)]);
  assert.deepEqual(rows.map((r) => [r.instance, r.rate, r.p99.commit,
    r.p99.prepare, r.silent]), [
    [':1', [10, 8], [0.02, 0.05], [null, null], false],
    [':3', [10, 0], [0.03, null], [null, null], true]]);
  assert.equal(M.fault.sentence(rows),
    'Rounds a second 10 before, 8 after; kv :3 fell silent.');
  assert.match(M.fault.sentence([]), /compare all metrics/);
  const ended = (fault) => M.fault.ended({ fault: Object.assign({ took: 0.5,
    late: false, status: 0 }, fault) });
  assert.equal(ended({}), 'carried out in 500 ms');
  assert.equal(ended({ status: 3 }), 'failed with status 3 after 500 ms');
  assert.equal(ended({ status: null }), 'ended by a signal after 500 ms');
  assert.match(ended({ late: true, status: null }), /its time was over/);
});

test('A may be another service: its selector, and turned round', () => {
  const state = { service: 'kv', instance: ':1', aservice: 'kv',
    ainstance: ':3' };
  assert.deepEqual(M.runsTab.queries({ state, service: 'kv' }), {
    query: '{service="kv",instance=":3"}',
    'query-b': '{service="kv",instance=":1"}', requests: undefined });
  assert.deepEqual(M.abBar.turned(state), { service: 'kv', instance: ':3',
    aservice: 'kv', ainstance: ':1' });
  assert.deepEqual(M.runsTab.queries({ state: { instance: '+' },
    service: 'kv' }), {});
  assert.equal(M.runs.instance({ instance: '*' }), '');
  const range = { from: 1000, until: 2000 };
  const of = (more) => M.runs.pair(Object.assign({ afrom: '', auntil: '',
    base: '' }, more), range, 0, 3000).a;
  assert.deepEqual(of({ aservice: 'kv' }), range, 'of the same time');
  assert.deepEqual(of({}), { from: 0, until: 1000 });
  assert.deepEqual(of({ aservice: 'kv', afrom: '10', auntil: '20' }),
    { from: 10, until: 20 });
});

test('logs beside a small database', () => {
  const files = (folder, kind, v) => col({ folder, kind, service: 'kv' }, v);
  const cols = [files('/db', 'data', [null, 4e6, 4e6]),
    files('/db', 'log', [0, null, 0]),
    files('/log', 'log', [100e6, null, 180e6]),
    files('/gone', 'log', [null, null, null])];
  const rows = M.folders.rows(cols);
  assert.deepEqual(rows, [
    { folder: '/log', data: { last: null, grew: null },
      log: { last: 180e6, grew: 80e6 } },
    { folder: '/db', data: { last: 4e6, grew: 0 },
      log: { last: 0, grew: 0 } }]);
  assert.match(M.folders.words(rows, 0), /45 times as much; they grew by 76.3/);
  assert.match(M.folders.words(rows, 2), /2 more folders were not read/);
});
