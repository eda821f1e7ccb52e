/*
 * A stand-in for nginx and the worker, for developing and testing the pages:
 *
 *   node mock.mjs [PORT [PREFIX]]      default 18700 and /
 *
 * It serves the pages with the Content-Security-Policy that they promise to
 * satisfy, and the routes of the HTTP contract that they use, with made-up
 * data.  PREFIX stands for a reverse proxy's sub-path.
 */
import http from 'node:http';
import { readFile } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { series, selector, load } from './mock-series.mjs';
import { flamegraph } from './mock-flame.mjs';
import { comparison } from './mock-compare.mjs';
import { load as script } from '../../frontend/tools/load.mjs';
import { graph, dot, svg, TARGETS } from './mock-graph.mjs';

const M = script('flame-tree');
const FRONTEND = fileURLToPath(new URL('../../frontend/', import.meta.url));
const UPLOT = join(FRONTEND, 'node_modules/uplot/dist/');
const TYPES = { html: 'text/html; charset=utf-8', css: 'text/css',
  js: 'text/javascript', svg: 'image/svg+xml', json: 'application/json' };
const HEADERS = { 'Content-Security-Policy': "default-src 'self'",
  'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-cache' };
/* Ours, one that is made of others, and one that nobody has ever heard of. */
const PROFILES = [{ name: 'cpu', title: 'CPU time', unit: 'nanoseconds',
  kind: 'flow', time: true, present: true }, { name: 'wall',
  title: 'Wall time', unit: 'nanoseconds', kind: 'flow', time: true,
  present: true, parts: ['offcpu', 'cpu'], idle: {
    labels: 'reason=~"poll|timer"',
    frames: '^(accept4?$|pthread_cond_timedwait)' } }, { name: 'wonders',
  title: 'Wonders seen', unit: 'count', kind: 'flow', time: false,
  present: true }, { name: 'alloc_space', title: 'Memory allocated',
  unit: 'bytes', kind: 'flow', time: false, present: true,
  pyroscope: 'memory:alloc_space:bytes:space:bytes' }, { name: 'inuse_space',
  title: 'Memory in use', unit: 'bytes', kind: 'stock', time: false,
  present: true, pyroscope: 'memory:inuse_space:bytes:space:bytes' }];
/* What can be asked for, though it is not offered. */
const ASKED = [...PROFILES, { name: 'offcpu', unit: 'nanoseconds' }];
const STARTED = Date.now() / 1000 - 86400 * 3;

const kv = new Map([['hello', 'world'], ['a b/c', '42']]);
const clock = () => Date.now() / 1000;
const seen = () => Math.floor((clock() - 2) / 10) * 10;

class Refusal extends Error {
  constructor(status, error, field) {
    super(error);
    this.status = status;
    this.field = field;
  }
}

function time(text, fallback) {
  const m = /^now(?:-(\d+)([smhd]))?$/.exec(text || fallback);
  if (m)
    return clock() - (m[1] || 0) * { s: 1, m: 60, h: 3600, d: 86400 }[m[2] || 's'];
  if (!/^\d+(\.\d+)?$/.test(text))
    throw new Refusal(400, 'not a time', 'from');
  return Number(text);
}

function range(q) {
  const from = Math.floor(time(q.get('from'), 'now-1h') / 10) * 10;
  const until = Math.ceil(time(q.get('until'), 'now-9s') / 10) * 10;
  if (from >= until)
    throw new Refusal(400, 'from must be before until', 'from');
  return { from, until };
}

function health() {
  const last = seen();
  const source = (name, samples, lost = {}) =>
    ({ name, state: 'attached', why: '', last, samples, lost });
  return { status: 'ok', version: '0.1.0-mock', now: clock(),
    store: { from: Math.floor(STARTED), until: last, bytes: 41234567,
      slots: 25920, state: 'ok' },
    sources: [source('cpu', 8412345, { ring_full: 12, stack_truncated: 841 }),
      source('procfs', null), source('leveldb', 25917, { timeout: 3 }),
      { name: 'offcpu', state: 'off', why: '', last: null,
        samples: null, lost: {} }],
    self: { cpu: 0.006, rss: 19.4 * 1024 * 1024 } };
}

function services() {
  const last = seen();
  const one = (name, command, pid, profiles = ['cpu']) => ({ name, last,
    processes: [{ pid, command, started: Math.floor(STARTED) }], profiles });
  return { services: [one('nginx', 'nginx /usr/sbin/nginx', 812),
    one('kv_service', 'kv_service /opt/resdb/kv_service', 2210,
      PROFILES.map((t) => t.name)),
    one('postgres', 'postgres /usr/lib/postgresql/15/bin/postgres', 901),
    one('memlensd', 'memlensd /usr/sbin/memlensd', 4410)] };
}

function seriesAnswer(q) {
  if (!selector(q.get('query')))
    throw new Refusal(400, 'not a metric selector', 'query');
  const step = Math.max(10, Math.ceil((q.get('step') || 10) / 10) * 10);
  return series({ query: q.get('query'), ...range(q), step, fn: q.get('fn') },
    clock());
}

function serviceOf(q) {
  const want = selector(q.get('query'));
  if (!want || !ASKED.some((t) => t.name === want.name))
    throw new Refusal(400, 'not a profile selector', 'query');
  const by = want.matchers.find(([name]) => name === 'service');
  return by ? by[2] : 'kv_service';
}

/* Calls a profile one of wall time: what ends in a wait is off CPU. */
function walled(answer) {
  const f = M.flameTree.decode(answer), m = answer.memlens;
  const off = f.total.map((_, i) => (/wait|accept|sync|write$/.test(
    f.names[f.name[i]]) ? f.self[i] : 0));
  const own = off.slice();
  for (let i = f.n - 1; i > 0; i--)
    off[f.parent[i]] += off[i];
  const levels = (pair) => Array.from({ length: f.depth }, (_, l) =>
    Array.from({ length: f.row[l + 1] - f.row[l] }, (_, k) =>
      pair(f.row[l] + k)).flat());
  Object.assign(m, { parts: { offcpu: off[0], cpu: f.ticks - off[0] },
    whole_slots: m.slots, threshold_seconds: { min: 0.001, max: 0.001 },
    unknown_levels: levels((i) => [off[i], own[i]]),
    sample_levels: levels((i) => [f.total[i] - off[i], f.self[i] - own[i]]
      .map((v) => Math.round(v / m.period))), period: null });
}

/* It is of the type that was asked for. */
function typed({ memlens }, q) {
  const { unit, kind } = ASKED.find((t) =>
    t.name === selector(q.get('query')).name);
  Object.assign(memlens, { unit, kind });
}

function flameAnswer(q) {
  const answer = comparison.shaped(flamegraph({ service: serviceOf(q),
    ...range(q) }, clock()), q);
  typed(answer, q);
  if (selector(q.get('query')).name === 'wall')
    walled(answer);
  return answer;
}

/* Two threads of eight burn; the last hour's third quarter is not known. */
function threads(q) {
  const { from, until } = range(q), step = Number(q.get('step')) || 10;
  const share = { 'on cpu': (x) => 2 * x, 'run queue': (x) => 0.4 * x,
    lock: (x) => 1.5 * x, disk: () => 0.5, poll: (x) => 5.6 - 3.9 * x };
  const times = Array.from({ length: Math.ceil((until - from) / step) },
    (_, i) => from + i * step);
  return { from, until, step, unit: 'threads', counts: [], pools: [{
    labels: { service: 'kv_service' }, births: null, deaths: null,
    states: Object.entries(share).map(([state, of]) => ({ state,
      seconds: 1, points: times.map((t) => [t, of(load(t))]) })) }] };
}

/* Requests that take longer the more there are: two bands of 12. */
function heatmap(q) {
  const { from, until } = range(q), step = Number(q.get('step')) || 10;
  const want = selector(q.get('query'));
  const labels = Object.fromEntries(want.matchers.map(([k, , v]) => [k, v]));
  const n = Math.ceil((until - from) / step);
  const columns = ['time', 'p50', 'p90', 'p95', 'p99', 'p99.9', 'max', 'mean',
    'count'];
  if (want.name !== 'disk_device_seconds' || labels.operation !== 'read')
    return { from, until, step, why: '', series: 0 };
  const edges = Array.from({ length: 13 }, (_, i) => 1e-4 * 2 ** (i / 2));
  const points = [], cells = [];
  for (let i = 0; i < n; i++) {
    const x = load(from + i * step), band = Math.min(10, Math.round(x * 10));
    cells.push([i, band, 90], [i, band + 1, 10]);
    points.push([from + i * step, edges[band], edges[band], edges[band + 1],
      edges[band + 1], edges[band + 1], edges[band + 2], edges[band], 100]);
  }
  return { from, until, step, why: '', series: 1, unit: 'seconds',
    name: want.name, columns, points, edges, cells };
}

/* Of kv_service alone; what requests allocate is mostly given back at once. */
function lifetimes(q) {
  const { from, until } = range(q), MiB = 1024 ** 2;
  if (q.get('service') !== 'kv_service')
    return { state: 'no data', from, until, slots: 0, seconds: 0,
      elsewhere: null, allocated: null, short: null, kept: null,
      objects: null, pools: [], stacks: [] };
  const row = (allocated, short, objects) => ({ allocated: allocated * MiB,
    short: short * MiB, kept: (allocated - short) * MiB, objects });
  return { state: 'data', from, until, slots: (until - from) / 10,
    seconds: until - from, elsewhere: 0, ...row(1200, 1100, 1e6), pools: [
      { pool: 'kv-http-*', ...row(900, 890, 9e5) },
      { pool: 'leveldb-bg', ...row(300, 210, 1e5) }],
    stacks: [{ pool: 'kv-http-*', stack: ['start_thread', 'kv::Worker::Run()',
      'std::string::_M_mutate(unsigned long)', 'operator new(unsigned long)',
      '[malloc of 4 KiB to 8 KiB]'], ...row(800, 800, 8e5) }] };
}

/* One stack leaks 1 MiB a minute, a cache is full; postgres has no heap
 * profile, and nginx does not grow. */
function leaks(q) {
  const { from, until } = range(q), service = q.get('service');
  const step = Math.max(10, Math.ceil((until - from) / 480) * 10);
  const times = Array.from({ length: Math.ceil((until - from) / step) },
    (_, i) => from + i * step);
  const of = (f, state, slope) => ({ state, slope, slope_low: 0.9 * slope,
    slope_high: 1.1 * slope, first: f(0), last: f(until - from),
    gained: f(until - from) - f(0), points: times.map((t) => [t,
      f(t - from)]) });
  const MIB = 1024 ** 2, slope = MIB / 60, heap = service === 'kv_service';
  const leaked = of((s) => 5 * MIB + slope * s, 'growing', slope);
  const flat = of(() => 64 * MIB, 'steady', 0);
  const end = { of: 'cgroup', by: 'total', available: 512 * MIB, slope,
    seconds: 512 * MIB / slope, at: until + 512 * MIB / slope,
    earliest: until + 465 * MIB / slope,
    latest: until + 569 * MIB / slope };
  return { service, from, until, step, unit: 'bytes', heap, anew: null,
    by: heap ? 'inuse_space' : 'resident', plateaus: heap ? 1 : 0,
    with_load: 0, followed: heap ? 2 : 0, total: heap ? of((s) => 90 * MIB +
      slope * s, 'growing', slope) : flat, resident: heap ? of((s) =>
      140 * MIB + slope * s, 'growing', slope) : flat,
    memory_ends: heap ? end : null, suspects: heap ? [{ stack: ['main',
      'resdb::KVExecutor::Set', 'leveldb::Arena::AllocateFallback'],
    ...leaked, age: until - from, age_at_least: true }] : [] };
}

/* The range of B; A's where it is not said. */
function rangeB(q) {
  return range(new URLSearchParams({ from: q.get('from-b') || q.get('from'),
    until: q.get('until-b') || q.get('until') }));
}

function graphOf(q) {
  const depth = q.get('depth') || '2';
  if (!['2', '3', '4', 'all'].includes(depth))
    throw new Refusal(400, 'depth is 2, 3, 4 or all', 'depth');
  const target = q.get('target') || TARGETS[0];
  if (!TARGETS.includes(target))
    throw new Refusal(404, 'no such target', 'target');
  return graph(depth === 'all' ? 99 : Number(depth), target, q);
}

const ROUTES = {
  'health': health, 'services': services,
  'threads': threads, 'heatmap.json': heatmap, leaks, lifetimes,
  'types': () => ({ types: PROFILES }), 'series': seriesAnswer,
  'flamegraph.json': flameAnswer, 'graph.json': graphOf,
  'diff.json': (q) => comparison.diff(serviceOf(q), range(q), rangeB(q), q,
    clock(), (answer) => typed(answer, q)),
  'table.json': (q) => comparison.table(serviceOf(q), range(q), q, clock()),
  'sandwich.json': (q) => comparison.sandwich(serviceOf(q), range(q), q,
    clock()),
  'compare.json': (q) => comparison.compare(range(q), rangeB(q)),
  'runs': () => comparison.list(), marks,
  'flamegraph.folded': (q) => ({ type: 'text',
    body: comparison.folded(flameAnswer(q)) }),
  'graph.svg': (q) => ({ type: 'svg', body: svg(graphOf(q)) }),
  'graph.dot': (q) => ({ type: 'dot', body: dot(graphOf(q)) }),
  'flamegraph.svg': () => ({ type: 'svg', body:
    '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="40">' +
    '<text x="8" y="24">made by the real server</text></svg>' })
};

async function bodyOf(req) {
  const parts = [];
  for await (const chunk of req)
    parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}

function latencyTest({ confirmed, samples }) {
  if (!confirmed)
    throw new Refusal(400, 'is not true', 'confirmed');
  const of = (ms) => ({ count: samples, p50: ms / 1e3, p90: 2 * ms / 1e3,
    p99: 3 * ms / 1e3, max: 4 * ms / 1e3, buckets: [] });
  return { kept: true, run: { name: 'latency of SET 2026-01-01 00:00:00',
    latency: { keys: 'memlens-p99-1-', samples, sent: samples, stopped: null,
      accepted: of(0.5), committed: of(200), unread: 0 } } };
}

/* A program that came back, a target that fell silent, and notes. */
const noted = [];

function marks(q) {
  const { from, until } = range(q), at = from + (until - from) / 2;
  const all = [
    { time: at - 120, what: 'ended', text: '2209 kv_service',
      service: 'kv_service', end: 'ended', trouble: true },
    { time: at - 60, what: 'began', text: '2210 kv_service',
      service: 'kv_service' },
    { time: at + 200, what: 'target-down', text: 'replica2: prometheus: ' +
      'Connection refused', service: 'nginx' }, ...noted];
  return { from, until, left_out: 0, marks: all.filter((m) =>
    m.time >= from && m.time < until && (!q.get('service') || !m.service ||
      m.service === q.get('service'))) };
}

async function kvAnswer(req, rawKey) {
  const key = decodeURIComponent(rawKey);
  const latency_seconds = 0.0008 + 0.004 * Math.random() + 0.002 * load(clock());
  if (req.method === 'PUT') {
    kv.set(key, await bodyOf(req));
  } else if (!kv.has(key)) {
    throw new Refusal(404, 'no such key', 'key');
  }
  return { key, value: kv.get(key), latency_seconds,
    ...req.method === 'PUT' && { state: 'accepted' } };
}

async function api(req, rest, query) {
  if (rest === 'marks' && req.method === 'POST') {
    const m = JSON.parse(await bodyOf(req));
    noted.push({ time: clock() - 1, what: 'note', service: null, ...m });
    return noted[noted.length - 1];
  }
  if (rest === 'actions/latency-test')
    return latencyTest(JSON.parse(await bodyOf(req)));
  if (rest === 'runs' && req.method === 'POST')
    return comparison.post(await bodyOf(req));
  if (rest.startsWith('kv/'))
    return kvAnswer(req, rest.slice(3));
  if (!Object.hasOwn(ROUTES, rest))
    throw new Refusal(404, 'no such route');
  return ROUTES[rest](query);
}

async function file(path) {
  const name = path === '' ? 'index.html' : path;
  const at = name.startsWith('lib/')
    ? join(UPLOT, normalize('/' + name.slice(4)))
    : join(FRONTEND, normalize('/' + decodeURIComponent(name)));
  return { type: name.split('.').pop(), body: await readFile(at) };
}

function send(res, status, type, body) {
  res.writeHead(status, { ...HEADERS, 'Content-Type': TYPES[type] ||
    'text/plain; charset=utf-8' });
  res.end(body);
}

async function handle(req, res, prefix) {
  const [path, search] = req.url.split('?');
  if (!path.startsWith(prefix))
    return send(res, 404, 'text', 'outside the prefix\n');
  const rest = path.slice(prefix.length);
  try {
    const answer = rest.startsWith('api/v1/')
      ? await api(req, rest.slice(7), new URLSearchParams(search))
      : await file(rest);
    if (answer.body !== undefined)
      return send(res, 200, answer.type, answer.body);
    return send(res, 200, 'json', JSON.stringify(answer));
  } catch (e) {
    const status = e.status || (e.code === 'ENOENT' ? 404 : 500);
    return send(res, status, 'json', JSON.stringify({ error: e.message,
      field: e.field, detail: '' }));
  }
}

export function start(port = 0, prefix = '/') {
  const server = http.createServer((req, res) => handle(req, res, prefix));
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () =>
    resolve({ server, base: `http://127.0.0.1:${server.address().port}` +
      prefix })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { base } = await start(Number(process.argv[2] || 18700),
    process.argv[3] || '/');
  console.log(base);
}
