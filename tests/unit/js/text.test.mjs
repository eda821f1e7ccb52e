/* Units, times, addresses and the playground's language. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const M = load('format', 'unit', 'time', 'views', 'url-state', 'request', 'shell', 'api');

test('zero, nothing and small are told apart', () => {
  assert.equal(M.format.bytes(0), '0 B');
  assert.equal(M.format.bytes(null), 'no data');
  assert.equal(M.format.percent(NaN), 'no data');
  assert.equal(M.format.percent(0), '0 %');
  assert.equal(M.format.percent(0.00001), '< 0.01 %');
  assert.equal(M.format.percent(0.99999), '99.99 %');
  assert.equal(M.format.percent(1), '100 %');
  assert.equal(M.format.percent(3.256), '325.6 %');
});

test('bytes step up before they need four digits', () => {
  assert.equal(M.format.bytes(1023), '1023 B');
  assert.equal(M.format.bytes(1024), '1 KiB');
  assert.equal(M.format.bytes(1023.9 * 1024), '1 MiB');
  assert.equal(M.format.bytes(1.5 * 1024 ** 3), '1.5 GiB');
  assert.equal(M.format.byteRate(2048), '2 KiB/s');
});

test('seconds choose their unit', () => {
  assert.equal(M.format.seconds(0), '0 s');
  assert.equal(M.format.seconds(0.00032), '320 µs');
  assert.equal(M.format.seconds(0.0021), '2.1 ms');
  assert.equal(M.format.seconds(0.99999), '1 s');
  assert.equal(M.format.seconds(3900), '1 h 5 min');
  assert.equal(M.format.duration(86400), '1 d');
});

test('numbers keep three digits', () => {
  assert.equal(M.format.compact(999.9), '1 k');
  assert.equal(M.format.compact(1234567), '1.23 M');
  assert.equal(M.format.count(1234567), '1,234,567');
  assert.deepEqual(M.format.split('1.5 GiB'), ['1.5', 'GiB']);
  assert.deepEqual(M.format.split('no data'), ['no data', '']);
});

test('the time language', () => {
  const now = 1_700_000_003;
  assert.equal(M.time.parse('now-90s', now), now - 90);
  assert.equal(M.time.parse('now', now), now);
  for (const t of ['1700000000', '1700000000000', '1700000000000000',
    '1700000000000000000', '2023-11-14T22:13:20Z'])
    assert.equal(M.time.parse(t, now), 1_700_000_000);
  assert.ok(Number.isNaN(M.time.parse('yesterday', now)));
  assert.ok(Number.isNaN(M.time.parse(undefined, now)));
});

test('a view survives its address, whatever is in it', () => {
  const s = Object.assign(M.urlState.defaults(), { tab: 'profiles',
    service: 'a b&c=ü', from: '1700000000', until: '1700000600',
    search: '/leveldb::.*Get/i', view: 'sandwich', fn: 'f<int>(x&&)' });
  assert.deepEqual(M.urlState.parse(M.urlState.serialise(s)), s);
});

test('a tab of before is the one that it has become', () => {
  const { parse, serialise } = M.urlState;
  const state = parse('?v=1&tab=cpu&search=malloc');
  assert.equal(state.tab, 'profiles');
  assert.equal(state.search, 'malloc');
  assert.equal(serialise(state), '?v=1&tab=profiles&search=malloc');
});

test('nonsense in the address is dropped', () => {
  assert.deepEqual(
    M.urlState.parse('?v=9&tab=evil&from=x&depth=5&junk=1&__proto__=1'),
    M.urlState.defaults());
  assert.equal(M.urlState.serialise(M.urlState.defaults()), '?v=1');
});

test('a request and its key in a snapshot', () => {
  const p = { query: 'cpu{service="x"}', from: 1, until: 2, step: 10,
    fn: 'rate', empty: '' };
  assert.equal(M.request.key('series', p),
    'series?fn=rate&query=cpu{service="x"}');
  assert.equal(M.request.path('series', p), 'api/v1/series?query=' +
    'cpu%7Bservice%3D%22x%22%7D&from=1&until=2&step=10&fn=rate');
  assert.equal(M.request.selector('m', { a: 'x"\\y', b: /p|q/ }),
    'm{a="x\\"\\\\y",b=~"p|q"}');
});

test('keys with slashes stay one segment; dots cannot be sent', () => {
  assert.equal(M.request.kvPath('a/../b c'), 'api/v1/kv/a%2F..%2Fb%20c');
  assert.equal(M.request.kvPath('ключ'),
    'api/v1/kv/%D0%BA%D0%BB%D1%8E%D1%87');
  assert.equal(M.request.kvPath('..'), null);
});

test('words, quotes and escapes', () => {
  const w = (line) => M.shell.words(line).words;
  assert.deepEqual(w('set  a   b'), ['set', 'a', 'b']);
  assert.deepEqual(w(`set "a b" 'c "d" \\'`), ['set', 'a b', 'c "d" \\']);
  assert.deepEqual(w('a\\ b "x\\n\\"y\\\\"'), ['a b', 'x\n"y\\']);
  assert.deepEqual(w('x"y z"w \'\''), ['xy zw', '']);
  assert.match(M.shell.words('set "a').error, /not closed/);
  assert.match(M.shell.words('a\\').error, /backslash/);
});

test('quoted() is the inverse of words()', () => {
  for (const s of ['a', 'a b', '"', '\\', "it's", 'x\ny\tz', '', '日本 語'])
    assert.deepEqual(M.shell.words(M.shell.quoted(s)).words, [s]);
});

test('both spellings of set and get', () => {
  const p = M.shell.parse;
  assert.deepEqual(p('set k "v w"'), { verb: 'set', key: 'k', value: 'v w' });
  assert.deepEqual(p('resdb set --value=v --key "k 1"'),
    { verb: 'set', key: 'k 1', value: 'v' });
  assert.deepEqual(p('resdb get --key k'),
    { verb: 'get', key: 'k', value: undefined });
  assert.deepEqual(p('  '), { verb: 'empty' });
  assert.match(p('resdb get --key').error, /needs a value/);
  assert.match(p('get a b').error, /one key/);
  assert.match(p('constructor').error, /unknown/);
  assert.match(p('get ""').error, /empty/);
});

test('names that would act are written out', () => {
  const { visible } = M.format;
  assert.equal(visible('a\u202eb\u0007\u2028'), 'a\\u202eb\\u0007\\u2028');
  assert.equal(visible('größe<int>\n\tx'), 'größe<int>\n\tx');
});

/* A chart may learn its format later, from the unit of an answer. */
test('ticks of bytes are round in bytes, whoever writes them', () => {
  const { axes } = load('chart').chart, F = M.format;
  globalThis.document = { documentElement: null };
  globalThis.getComputedStyle = () => ({ getPropertyValue: () => '' });
  const steps = (format) => axes(format)[1].incrs;
  for (const format of [F.bytes, F.byteRate, (v) => F.byteRate(v)])
    assert.ok(steps(format).includes(2 ** 14));
  for (const format of [F.compact, F.seconds, F.percent, (v) => F.count(v)])
    assert.equal(steps(format), undefined);
});
