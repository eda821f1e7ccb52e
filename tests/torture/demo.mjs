/*
 * The offline demo's side of demo.py: answers questions as a page does that
 * is offline, by the page's own scripts, and says in plain numbers what the
 * page would show.
 *
 *	node demo.mjs SNAPSHOT|URL <QUESTIONS
 *
 * With the address of an API it answers as the page does that is live.  A
 * question is a line of JSON, {ask, ...params}, and so is the answer.  What
 * the page is refused is {refused: status, field, text}.
 */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { runInThisContext } from 'node:vm';
import { fileOf, load } from '../../frontend/tools/load.mjs';

globalThis.window = globalThis;
const [, , from] = process.argv, live = from.startsWith('http:');
globalThis.MemLens = { mode: { current: live ? 'live' : 'offline',
  doubt: async () => undefined } };
const M = load('format', 'unit', 'time', 'request', 'series', 'colour', 'flame-tree',
  'flame-answers', 'flame-facts', 'recorded-profiles', 'recorded-series',
  'flame-diff', 'runs', 'snapshot', 'api', 'services', 'views',
  'pbft-rounds', 'instances', 'overview', 'folders');
const TABLES = [...new Set(M.views.LIST.flatMap((v) => v.series || []))];
load(...TABLES.map(fileOf));
if (live) {
  const { fetch } = globalThis;
  globalThis.fetch = (path, options) => fetch(new URL(path, from), options);
} else {
  runInThisContext(readFileSync(from, 'utf8'));
}
const { flameTree: T, flameDiff: D, flameFacts: F } = M;

/* Frames, as the graph and its tooltips have them. */
function frames(f, unit) {
  const numbers = Array.from({ length: f.n }, (_, i) => [f.name[i],
    f.parent[i], f.self[i], f.total[i], F.frameSamples(unit, f, i, 'self'),
    F.frameSamples(unit, f, i, 'total')]);
  return { names: f.names, kinds: f.kinds, ticks: f.ticks, numbers };
}

async function flame(p) {
  const answer = await M.api.get('flamegraph.json', p);
  return { about: answer.memlens, ...frames(T.decode(answer),
    F.unitOf(answer)) };
}

const rowsOf = (rows, unit) => rows.map((r) => [r.name, r.kind, r.self,
  r.total, F.samplesOf(unit, r, 'self'), F.samplesOf(unit, r, 'total'),
  r.self_share, r.total_share]);

async function table(p) {
  const a = await M.api.get('table.json', p);
  return { about: a, functions: a.functions, matched: a.matched,
    over: a.over_time, rows: rowsOf(a.rows, F.unitOf({ memlens: a })) };
}

async function sandwich(p) {
  const a = await M.api.get('sandwich.json', p);
  const unit = F.unitOf({ memlens: a });
  /* as the card does: from the function on */
  const side = ({ kinds, sample_levels: counts, flamebearer: fb }) =>
    frames(T.decode({ memlens: { kinds, sample_levels: counts &&
      counts.slice(1) }, flamebearer: { ...fb, levels:
      fb.levels.slice(1) } }), unit);
  return { about: a, function: a.function, callers: side(a.callers),
    callees: side(a.callees) };
}

async function diff(p) {
  const a = await M.api.get('diff.json', p), f = D.decode(a);
  return { a: a.a, b: a.b, left: a.leftTicks, right: a.rightTicks,
    matched: a.matched, functions: a.functions,
    names: f.names, numbers: Array.from({ length: f.n }, (_, i) =>
      [f.name[i], f.parent[i], f.selfA[i], f.a[i], f.selfB[i], f.b[i],
        ...D.samples(f, i)]),
    rows: a.rows.map((r) => [r.name, r.kind, ...r.self, ...r.total,
      ...r.self_samples || [null, null], ...r.total_samples || [null, null],
      r.self_difference, r.total_difference, r.few]) };
}

/* Rows of the views' own tables of queries, by service, each once. */
function queries({ services }) {
  const rows = [...M.services.QUERIES, ...services.flatMap((s) =>
    TABLES.flatMap((t) => M[t].queries(s)))];
  return [...new Map(rows.map(({ query, fn = '' }) =>
    [fn + query, { query, fn }])).values()];
}

async function series({ query, fn, from, until, step }) {
  const { x } = await M.api.series([{ key: 'x', query, fn: fn || undefined }],
    { from, until }, step);
  return { state: x.state, step: x.step, error: x.error && x.error.message,
    partial: x.partial, cols: x.cols };
}

async function operations({ service, from, until, q }) {
  const range = { from, until };
  const r = await M.api.series(M.operations.queries(service, { range }),
    range, M.time.SLOT_S);
  return { step: r.operations.step, lines: [...M.operations.families(
    r.operations.cols)].flatMap(([name, lines]) => lines.map((line) =>
    ({ name, label: line.label, percentile: M.operations.percentile(q,
      line) }))) };
}

const services = async (range) => ({ ranked: await M.services.load(range),
  list: await M.api.get('services', live ? range : {}) });

const ASK = { flame, table, sandwich, diff, queries, series, operations,
  services, compare: (p) => M.api.get('compare.json', p),
  recording: () => ({ from: M.snapshot.from, until: M.snapshot.until,
    profiles: Object.keys(M.snapshot.profiles.of) }) };

async function answer({ ask, ...params }) {
  try {
    return await ASK[ask](params);
  } catch (e) {
    if (!(e instanceof M.api.ApiError))
      throw e;
    return { refused: e.status, field: e.field, text: e.message };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await answer(JSON.parse(line))));
