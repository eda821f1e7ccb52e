/*
 * The mock's answers to comparisons: made of its own series and profiles by
 * the pages' own arithmetic, plus runs that it keeps in memory.
 */
import { load } from '../../frontend/tools/load.mjs';
import { flamegraph } from './mock-flame.mjs';

const M = load('format', 'unit', 'time', 'request', 'colour', 'flame-tree',
  'flame-facts', 'flame-answers', 'flame-diff', 'runs');

const runs = [];

/* query -> flamebearer of a range, with the filters of the server. */
function shaped(answer, q) {
  const want = { focus: q.get('focus'), ignore: q.get('ignore') ||
    (q.get('idle') === 'hide' ? '^pthread_cond_timedwait' : ''),
    reverse: q.get('reverse') };
  if (!want.focus && !want.ignore && !want.reverse)
    return answer;
  const f = M.flameTree.reshape(M.flameTree.decode(answer), want);
  return { ...answer, flamebearer: M.flameTree.encode(f),
    memlens: { ...answer.memlens, kinds: f.kinds, samples: f.ticks /
      answer.memlens.period } };
}

function diff(service, a, b, q, now, typed) {
  const sides = [a, b].map((r) => flamegraph({ service, ...r }, now));
  sides.forEach(typed);
  return M.flameAnswers.found(M.flameDiff.fromPair(...sides,
    q.get('normalise') || 'total'), sides.map(M.flameTree.decode),
  { search: q.get('search') || '' });
}

/* The parameters of a question as the pages' functions take them. */
const asked = (q) => ({ search: q.get('search') || undefined,
  sort: q.get('sort') || undefined,
  limit: q.has('limit') ? Number(q.get('limit')) : undefined });

/* A refusal in the pages' code is the server's. */
M.api = { ApiError: class extends Error {
  constructor(status, text, field) {
    super(text);
    Object.assign(this, { status, field });
  }
} };

function wholeTree(service, range, q, now) {
  const answer = shaped(flamegraph({ service, ...range }, now), q);
  return [M.flameTree.decode(answer), answer.memlens];
}

function sandwich(service, range, q, now) {
  const [f, memlens] = wholeTree(service, range, q, now);
  return { ...memlens, ...M.flameAnswers.sandwich(f, q.get('function')) };
}

function table(service, range, q, now) {
  const [f, memlens] = wholeTree(service, range, q, now);
  return { ...memlens, ...M.flameAnswers.table(f, asked(q)),
    over_time: q.has('function') ? overTime(service, range, q, now)
      : undefined };
}

/* One function in ten steps. */
function overTime(service, range, q, now) {
  const step = Math.max(10, Math.ceil((range.until - range.from) / 100) * 10);
  const points = [];
  for (let t = range.from; t < range.until; t += step) {
    const f = M.flameTree.decode(flamegraph({ service, from: t,
      until: Math.min(range.until, t + step) }, now));
    const r = M.flameTree.functions(f).find((x) =>
      x.name === q.get('function'));
    points.push(f.ticks ? [t, r ? r.self : 0, r ? r.total : 0]
      : [t, null, null]);
  }
  return { function: q.get('function'), step, points };
}

const row = (name, labels, unit, a, b, verdict, better = null) => ({ name,
  labels, unit, fn: unit.endsWith('/s') ? 'rate' : 'mean', value: [a, b],
  difference: a === null || b === null ? null : b - a,
  ratio: a ? b / a : null, better, verdict });

function compare(a, b) {
  const rows = [
    row('node_pressure_io_waiting_seconds_total', {}, 'ratio', 0.01, 0.04,
      'worse', 'down'),
    row('leveldb_cache_hit_ratio', { service: 'kv_service' }, 'ratio', 0.81,
      0.93, 'better', 'up'),
    row('leveldb_level_files', { service: 'kv_service', level: '2' }, '', 14,
      16, 'moved'),
    row('node_network_receive_bytes_total', { device: 'eth0' }, 'bytes/s',
      0, 20480, 'moved'),
    row('kv_latency_seconds', { service: 'kv_service' }, 'seconds', null,
      0.002, 'only in B', 'down')];
  const side = (r) => ({ ...r, series: 120, requests: null });
  return { a: side(a), b: side(b), rows, counts: { better: 1, worse: 1,
    moved: 2, same: 115, 'only in A': 0, 'only in B': 1 } };
}

async function post(body) {
  const run = JSON.parse(body);
  const at = runs.findIndex((r) => r.name === run.name);
  if (at >= 0)
    runs.splice(at, 1);
  if (!run.removed)
    runs.unshift({ kernel: 'Linux 6.1.0-mock', sysctls: {
      'vm.swappiness': '60' }, ...run });
  return run;
}

const folded = (answer) =>
  M.flameTree.folded(M.flameTree.decode(answer));

export const comparison = { shaped, folded, diff, table, sandwich,
  compare, post,
  list: () => ({ runs }), reset: () => runs.splice(0) };
