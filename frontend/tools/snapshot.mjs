/*
 * Records a snapshot for the Offline mode from a running MemLens:
 *
 *   node tools/snapshot.mjs http://host/memlens/ [OUT [SECONDS [SERVICES]]]
 *
 * It asks what the pages ask, by their own tables of queries, and writes the
 * answers as snapshots/snapshot.js: series and profiles slot by slot, and
 * exact.  What cannot be had is left out, and said; nothing but the API is
 * read, and no path of the host is kept.  SERVICES is a list with commas, by
 * default the three that the pages rank highest; "*" adds the whole host's
 * profile.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';
import { fileURLToPath } from 'node:url';
import { Pack } from './pack.mjs';

const HERE = new URL('../', import.meta.url);
const SERVICES = 3, PROCESSES = 3, LIMIT = 18e6, PLACES = 300;

function loadPages() {
  globalThis.MemLens = { dom: {} };
  for (const name of ['format', 'time', 'request', 'series', 'storage',
    'operations', 'disk', 'host', 'cpu-tab', 'services',
    'recorded-series'])
    runInThisContext(readFileSync(new URL('js/' + name + '.js', HERE),
      'utf8'), { filename: name + '.js' });
  return globalThis.MemLens;
}

const M = loadPages();
const [base, out, seconds, wanted] = process.argv.slice(2);
if (!base) {
  console.error('usage: snapshot.mjs BASE_URL [OUT] [SECONDS]');
  process.exit(2);
}
const span = Number(seconds || 3600);

async function get(name, params) {
  const res = await fetch(new URL(M.request.path(name, params), base));
  if (!res.ok)
    throw new Error(`${name}: ${res.status}`);
  return name.endsWith('.svg') ? res.text() : res.json();
}

async function keep(answers, name, params) {
  try {
    const answer = await get(name, params);
    answers[M.request.key(name, params)] = answer;
    return answer;
  } catch (e) {
    console.error('left out:', M.request.key(name, params), e.message);
    return null;
  }
}

/* The end of what the store has, so that the newest slot is whole. */
async function window_() {
  const health = await get('health', {});
  const until = M.time.parse(health.store && health.store.until,
    Date.now() / 1000);
  const end = Math.floor((Number.isFinite(until) ? until
    : Date.now() / 1000) / M.time.SLOT_S) * M.time.SLOT_S;
  return { from: end - span, until: end, by: health.version || '' };
}

const recorded = {};

/* A value a slot, whatever step a page asks for; of means also how often a
 * slot was measured, and which way is better, by name and labels. */
async function record(range, query, fn, ways) {
  const found = {}, each = { ...range, step: M.time.SLOT_S };
  const answer = await keep(found, 'series', { query, fn, ...each });
  if (!answer)
    return;
  for (const s of answer.series)
    s.better = ways.get(JSON.stringify([s.name, s.labels]));
  recorded[Object.keys(found)[0]] = M.recordedSeries.pack(answer,
    answer.series.some((s) => s.fn === 'mean')
      ? await get('series', { query, fn: 'count', ...each }) : undefined);
}

/* What pages ask for; of last values means as well, which are compared. */
async function series(range, rows, ways = new Map()) {
  for (const { query, fn } of rows) {
    await record(range, query, fn, ways);
    if (fn === 'last')
      await record(range, query, undefined, ways);
  }
}

/* Which way each metric is better, as the server says when it compares. */
async function directions({ from, until }) {
  const { rows } = await get('compare.json', { from, until, show: 'all',
    limit: 50000 });
  return new Map(rows.filter((r) => r.better).map((r) =>
    [JSON.stringify([r.name, r.labels]), r.better]));
}

/* Each slot of each profile, uncut. */
async function profiles(queries, { from, until }) {
  const slot = M.time.SLOT_S, pack = new Pack(from, slot);
  for (const query of queries)
    for (let at = from; at < until; at += slot)
      pack.add(query, await get('flamegraph.json', { query, from: at,
        until: at + slot, 'max-nodes': -1 }));
  return pack.finish();
}

/* Where functions were written; of paths outside /usr only the name. */
async function places(answers, service, range) {
  const params = { query: M.request.selector('cpu', { service }), places: 1 };
  const answer = await get('table.json', { ...params, ...range,
    limit: PLACES }).catch(() => null);
  const rows = answer ? answer.rows.filter((r) => r.places.length) : [];
  answers[M.request.key('table.json', params)] = { ...range,
    rows: rows.map((r) => ({ name: r.name, kind: r.kind,
      places: r.places.slice(0, 2).map(({ file, line, module }) => ({
        file: file.replace(/^\/(?!usr\/).*\//, ''), line, module })) })) };
}

/* The services worth their bytes: as the pages rank them. */
async function chosen(answers, range) {
  const found = await keep(answers, 'services', range) || { services: [] };
  M.mode = { current: 'live' };
  M.api = {
    get: async () => found,
    series: async (table) => Object.fromEntries(await Promise.all(table.map(
      async ({ key, query, fn }) => [key, { cols: M.series.columns(
        await get('series', { query, fn, ...range,
          step: M.time.SLOT_S })) }])))
  };
  const only = wanted && wanted.split(',').filter((s) => s !== '*');
  const ranked = (await M.services.load(range)).map((s) => s.name)
    .filter((name) => !only || only.includes(name)).slice(0, SERVICES);
  found.services = (found.services || [])
    .filter((s) => ranked.includes(s.name));
  for (const s of found.services)
    s.processes = (s.processes || []).slice(0, PROCESSES)
      .map((p) => ({ ...p, command: p.command.split(' ')[0] }));
  return ranked;
}

/* The series that the pages rank services by, of those recorded. */
async function ranking(services, range, ways) {
  await series(range, M.services.QUERIES, ways);
  for (const r of Object.values(recorded))
    r.series = r.series.filter(({ labels: l }) =>
      services.includes(l.service || l.groupname));
}

async function graphs(answers) {
  for (const depth of ['2', '3', '4']) {
    const graph = await keep(answers, 'graph.json', { depth });
    if (!graph)
      continue;
    await keep(answers, 'graph.svg', { depth });
    graph.targets = [graph.target];
  }
}

const { by, ...range } = await window_();
const answers = {}, ways = await directions(range);
const services = await chosen(answers, range);
await ranking(services, range, ways);
for (const name of services) {
  await series(range, [...M.storage.queries(name),
    ...M.cpuTab.queries(name), ...M.operations.queries(name)], ways);
  await places(answers, name, range);
}
const host = (wanted || '').split(',').includes('*');
await series(range, [...M.disk.queries(), ...M.host.queries(),
  ...host ? M.cpuTab.queries('') : []], ways);
await keep(answers, 'runs', {});
await graphs(answers);
const queries = services.map((service) => M.request.selector('cpu',
  { service }));
const snapshot = { version: 2, by, taken: new Date(range.until * 1000)
  .toISOString(), ...range, answers, series: recorded,
profiles: await profiles(host ? [...queries, 'cpu'] : queries, range) };
const text = '/* Made by tools/snapshot.mjs. */\n' +
  '(window.MemLens = window.MemLens || {}).snapshot =\n' +
  JSON.stringify(snapshot)
    .replace(/(?<=[}\]]),(?="[a-z])/g, ',\n') + ';\n';
const file = out || fileURLToPath(new URL('snapshots/snapshot.js', HERE));
writeFileSync(file, text);
console.log(`${file}: ${Object.keys(answers).length} answers, ` +
  `${Object.keys(recorded).length} series queries, ` +
  `${services.join(', ')}, ${(text.length / 1024).toFixed(0)} KiB`);
if (text.length > LIMIT) {
  console.error('larger than ' + LIMIT + ' bytes');
  process.exit(1);
}
