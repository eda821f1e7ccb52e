/* Which range a page asks for: that of its address, to the microsecond. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'views', 'url-state', 'runs', 'api');
const { resolve, within, outward, onGrid } = M.time;
const edges = ({ from, until }) => [from, until];

/* An address whose range was reversed showed another hour. */
test('a reversed range stays one, and is refused by its field', async () => {
  assert.deepEqual(resolve('900', '500', 1000),
    { from: 900, until: 500, follow: false, slot: 10 });
  assert.deepEqual(within({ from: 900, until: 500 },
    { from: 0, until: 1000 }), { from: 900, until: 500 });
  await assert.rejects(M.api.get('series', { from: 900, until: 500 }),
    { status: 400, field: 'from', message: /not before until/ });
  assert.equal(resolve('now-213504d', 'now', 1000).from, 0);
});

test('ranges that follow the present are whole slots and never empty', () => {
  assert.deepEqual(resolve('now-1h', 'now', 1_700_000_003),
    { from: 1_699_996_400, until: 1_700_000_000, follow: true, slot: 10 });
  assert.deepEqual(edges(resolve('50', '50', 1000)), [50, 50]);
  assert.deepEqual(edges(resolve('now-1s', 'now', 103)), [90, 100]);
  assert.deepEqual(edges(resolve('now-25s', 'now-3s', 103)), [70, 100],
    'from goes down, until up');
  assert.equal(M.time.step(3600, 360), 10);
  assert.equal(M.time.step(86400, 360), 240);
  assert.equal(M.time.step(5, 360), 10);
  assert.equal(M.time.refresh(3600, 360), 10, 'each slot');
  assert.equal(M.time.refresh(86400, 360), 60, 'a quarter of a step');
  assert.equal(M.time.refresh(300, 320, 0.2), 0.4);
});

/* Both ends went down to tens of seconds, and of 305 to 315 only half was
 * shown. */
test('a range of times is asked for as it stands in the address', () => {
  assert.deepEqual(edges(resolve('305', '315', 1000)), [305, 315]);
  assert.deepEqual(edges(resolve('1795357303.5', '1795357333.25', 2e9)),
    [1795357303.5, 1795357333.25]);
  assert.deepEqual(edges(resolve('6', '9', 1000)), [6, 9]);
  assert.deepEqual(edges(resolve('305', 'now', 1009)), [305, 1000]);
});

/* With B on a grid that A was not on, a run was better than itself. */
test('a run is the same range as A and as B', () => {
  for (const run of [{ from: 1795358006, until: 1795358096 },
    { from: 1795358006.125, until: 1795358046.75 }]) {
    const [from, until] = edges(run).map(String);
    const b = resolve(from, until, 1795360000);
    const pair = M.runs.pair({ afrom: from, auntil: until }, b, 0,
      1795360000);
    assert.deepEqual(edges(pair.a), edges(run));
    assert.deepEqual(edges(pair.b), edges(run));
    assert.equal(M.runs.named([run], pair.a), run);
    assert.equal(M.runs.named([run], pair.b), run);
  }
});

test('the grid is that of the store', () => {
  assert.deepEqual(edges(resolve('now-5m', 'now', 1_700_000_003, 1)),
    [1_699_999_703, 1_700_000_003]);
  assert.deepEqual(edges(resolve('now-5s', 'now', 1_700_000_003.53, 0.02)),
    [1_699_999_998.52, 1_700_000_003.52]);
  assert.equal(onGrid(1795357163.52, 0.02, Math.floor), 1795357163.52);
  assert.equal(onGrid(1795357163.52, 0.02, Math.ceil), 1795357163.52);
  assert.equal(M.time.step(300, 320, 1), 1);
  assert.equal(M.time.step(300, 320, 0.2), 1);
  assert.equal(M.time.step(3, 320, 0.02), 0.02);
  assert.deepEqual(edges(M.time.transform({ from: 10, until: 16 }, 0.5, 0,
    { slot: 1 })), [12, 15]);
  const half = M.runs.pair({ afrom: '', auntil: '' }, { from: 100,
    until: 108, slot: 1 }, 100);
  assert.deepEqual([edges(half.a), edges(half.b)], [[100, 104],
    [104, 108]]);
});

/* Series know whole slots: half of the last one was not asked for. */
test('charts ask for all the slots that a range touches', async () => {
  const asked = [];
  M.mode = { current: 'live' };
  M.request = { path: (name, p) => p };
  globalThis.fetch = async (p) => {
    asked.push(edges(p));
    return { ok: true, json: async () => ({ series: [] }) };
  };
  load('series');
  await M.api.series([{ key: 'x', query: 'up' }], { from: 305, until: 315 },
    10);
  await M.api.series([{ key: 'x', query: 'up' }], { from: 305.5,
    until: 308.5, slot: 1 }, 1);
  assert.deepEqual(asked, [[300, 320], [305, 309]]);
});

test('zooming keeps the point under the finger', () => {
  const r = M.time.transform({ from: 1000, until: 2000 }, 0.5, 0,
    { at: 1000 });
  assert.deepEqual(r, { from: 1000, until: 1500 });
  assert.deepEqual(M.time.transform({ from: 1000, until: 2000 }, 1, 0.25),
    { from: 1250, until: 2250 });
});

/* What lay outside became all of the recording, under another time. */
test('a snapshot has no more than it has', () => {
  const whole = { from: 100, until: 200 };
  assert.deepEqual(within({ from: 50, until: 150 }, whole),
    { from: 100, until: 150 });
  assert.deepEqual(within({ from: 300, until: 400 }, whole),
    { from: 300, until: 400, outside: true });
  assert.deepEqual(outward({ from: 105, until: 111 }), { from: 100,
    until: 120 });
});

/* They showed the last hour, without a word. */
test('the address takes the times that the API takes', () => {
  const now = 1_700_000_000;
  for (const [text, t] of [['1795357303.5', 1795357303.5],
    ['1795357303500', 1795357303.5], ['1795357303500000000', 1795357303.5],
    ['2026-11-22T14:21:43Z', 1795357303],
    ['2026-11-22T15:21:43.25+01:00', 1795357303.25],
    ['2026-11-22 09:51:43-04:30', 1795357303], ['now-3h30m', now - 12600],
    ['now-1y', now - 31536000], ['now-500ms', now - 0.5]]) {
    assert.equal(M.time.parse(text, now), t, text);
    const bad = {}, s = M.urlState.parse('?from=' +
      encodeURIComponent(text), bad);
    assert.deepEqual([s.from, bad], [text, {}]);
    assert.equal(M.urlState.parse(M.urlState.serialise(s)).from, text);
  }
});

test('an address that is not understood is told, not passed over', () => {
  for (const text of ['-100', 'x', '', '1e9', '2026-11-22', 'now+1h',
    '2026-02-30T00:00:00Z', '2026-11-22T14:21:43', '2026-11-22T25:00:00Z',
    '99999999999999999', '12345678901234567890']) {
    const bad = {}, s = M.urlState.parse('?until=1795357333&from=' +
      encodeURIComponent(text), bad);
    assert.deepEqual([s.from, s.until, bad], ['now-1h', 'now',
      { from: text }], text);
    assert.match(M.urlState.problems(bad)[0], /\(from\).*last hour/);
  }
  const bad = {};
  assert.equal(M.urlState.parse('?afrom=10&auntil=x&tab=evil', bad).afrom,
    '', 'half a range is none');
  assert.equal(M.urlState.problems(bad).length, 2);
  assert.deepEqual(M.urlState.problems({}), []);
});

test('marks are told in words, and the nearest comes first', () => {
  const { words, near } = load('format', 'unit', 'time', 'marks').marks;
  const say = (what, text, service = null, end = undefined) => words({ what,
    text, service, end });
  assert.equal(say('ended', '7 kv a', 'kv'), 'kv: kv a (pid 7) ended');
  assert.equal(say('fewer', '7 kv', 'kv', 'ended, others of its name go on'),
    'kv: kv (pid 7) ended, others of its name go on');
  assert.equal(say('ended', '7 kv :2003 #4 (signal 9)', 'kv',
    'ended (signal 9)'), 'kv: kv :2003 (pid 7) ended (signal 9)');
  assert.equal(say('began', '7 kv :2003 #2', 'kv'),
    'kv: kv :2003 (pid 7) began');
  assert.equal(say('listens', '7 kv #2', 'kv'), 'kv: kv #2 (pid 7) listens');
  assert.equal(say('stopped', '7 kv (status 0)', 'kv',
    'was stopped (status 0)'),
    'kv: kv (pid 7) was stopped (status 0)');
  assert.equal(say('began', 'odd', 'kv'), 'kv: odd began');
  assert.equal(say('target-down', 'r2: prometheus: refused', 'kv'),
    'kv: target r2 does not answer: prometheus: refused');
  assert.equal(say('target-up', 'kv', 'kv'), 'target kv answers again');
  assert.equal(say('note', 'hello'), 'note: hello');
  assert.equal(say('rate', '49 Hz'), 'rate: 49 Hz');
  assert.deepEqual(near([{ time: 1 }, { time: 8 }, { time: 11 }], 10, 2),
    [{ time: 11 }, { time: 8 }]);
});
