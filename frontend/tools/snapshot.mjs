/*
 * Records a snapshot for the Offline mode from a running MemLens:
 *
 *   node tools/snapshot.mjs http://host/memlens/ [OUT [SECONDS [SERVICES]]]
 *
 * It asks what the pages ask, by their own tables of views, and writes the
 * answers as snapshots/snapshot.js: series and profiles slot by slot, and
 * exact.  What cannot be had is left out, and said; nothing but the API is
 * read, and no path of the host is kept.  SERVICES is a list with commas, by
 * default the three that the pages rank highest; "*" adds the whole host's
 * profile.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fileOf, load } from './load.mjs';
import { Pack } from './pack.mjs';

const HERE = new URL('../', import.meta.url);
const SERVICES = 3, PROCESSES = 3, PLACES = 300;
/* Bytes: of all, and from which on what is less needed is left out. */
const LIMIT = 18e6, ENOUGH = 1.5e6;
/* Types that are recorded beside the first; wall time is made of two. */
const MORE = ['offcpu', 'faults'], MADE = { wall: 'offcpu' };
/* Of a slot of those, the largest nodes; the rest is (other). */
const NODES = 512;

const M = load('format', 'time', 'request', 'series', 'services', 'views',
  'recorded-series', 'types', 'pbft-rounds', 'instances', 'overview',
  'folders');
/* What views ask for, by their own table. */
const VIEWS = M.views.LIST;
const TABLES = [...new Set(VIEWS.flatMap((v) => v.series || []))];
load(...TABLES.map(fileOf));
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

/* What views ask of a service, over all of the range. */
async function ofServices(answers, services, range) {
  for (const service of services)
    for (const [name, params] of VIEWS.flatMap((v) =>
      (v.of ? v.of(service) : []))) {
      const found = {};
      await keep(found, name, { ...params, ...range });
      Object.assign(answers, found);
    }
}

/* What pages ask for, once; of last values means as well, which are
 * compared. */
async function series(range, rows, ways) {
  for (const { query, fn } of rows) {
    if (recorded[M.request.key('series', { query, fn })])
      continue;
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

/* Each slot of a profile, uncut where `nodes` is -1. */
async function profile(pack, query, { from, until }, nodes) {
  const slot = M.time.SLOT_S;
  for (let at = from; at < until; at += slot)
    pack.add(query, await get('flamegraph.json', { query, from: at,
      until: at + slot, 'max-nodes': nodes }));
}

/* The first type of all, then the others for as long as there is room. */
async function profiles(queries, more, range) {
  const pack = new Pack(range.from, M.time.SLOT_S);
  for (const query of queries)
    await profile(pack, query, range, -1);
  for (const query of more) {
    if (JSON.stringify(pack.finish()).length > ENOUGH) {
      console.error('left out, as there is enough:', query);
      continue;
    }
    await profile(pack, query, range, NODES);
  }
  return pack.finish();
}

/* A heat map, or the states of threads, slot by slot; null where none was
 * recorded. */
async function bySlot(name, query, range) {
  const step = M.time.SLOT_S;
  const answer = await get(name, { query, ...range, step }).catch((e) => {
    console.error('left out:', name, query, e.message);
    return null;
  });
  if (name === 'heatmap.json' && answer && answer.cells)
    [answer.whole] = (await get(name, { query, ...range, bands: 1,
      step: range.until - range.from })).points;
  return answer && (!answer.pools || answer.pools.length) ? answer : null;
}

async function latencies(services, range) {
  const out = { threads: {}, heat: {} };
  for (const name of services) {
    const query = M.request.selector('thread_seconds_total',
      { service: name });
    const answer = await bySlot('threads', query, range);
    if (answer)
      out.threads[query] = answer;
  }
  for (const L of VIEWS.filter((v) => v.heat).map((v) => M[v.heat]))
    for (const name of services)
      for (const kind of Object.values(L.KINDS)) {
        const query = L.queryOf(kind, name);
        const answer = await bySlot('heatmap.json', query, range);
        if (answer)
          out.heat[query] = answer;
      }
  return out;
}

/* Where functions were written; of paths outside /usr only the name. */
async function places(answers, query, range) {
  const params = { query, places: 1 };
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

/* What views ask beside series; of the targets of graphs only the first. */
async function others(answers, range) {
  for (const [name, params] of VIEWS.flatMap((v) => v.answers || [])) {
    const answer = await keep(answers, name, params);
    if (answer && answer.targets) {
      answer.targets = [answer.target];
      await costs(answers, answer.target, params, range);
    }
  }
}

/* What a graph costs of all of the range, of the service that is called like
 * its target; with the drawing that has
 * room for it. */
async function costs(answers, service, { depth }, range) {
  const query = queries.find((q) => q === M.request.selector(type.name,
    { service }));
  for (const [name, more] of query ? [['graph.json', {}],
    ['graph.svg', { plain: 1 }]] : []) {
    const answer = await keep(answers, name, { depth, query, ...more,
      ...range });
    if (answer && answer.targets)
      answer.targets = [answer.target];
  }
}

const { by, ...range } = await window_();
const answers = {}, ways = await directions(range);
const services = await chosen(answers, range);
/* The type that pages show first; its slots are summed, so it is a flow. */
const { types } = await get('types'), [type] = types;
const found = answers[M.request.key('services', range)];
const bytes = M.types.ofMemory(types).filter((t) => t.unit === 'bytes')
  .map((t) => t.name);
const more = [...new Set([...MORE, ...bytes])].filter((name) =>
  types.some((t) => t.name === name) &&
  found.services.some((s) => s.profiles.includes(name)));
answers[M.request.key('types')] = { types: types.filter((t) => t === type ||
  more.includes(t.name) || more.includes(MADE[t.name])) };
const ofAll = (name) => services.map((service) => M.request.selector(name,
  { service }));
const queries = ofAll(type.name);
/* What a drag on a heat map asks for. */
const dragged = more.includes('offcpu') ? services.flatMap((service) =>
  [...new Set(VIEWS.filter((v) => v.heat).flatMap((v) => Object.values(
    M[v.heat].KINDS).map((k) => k.reason)))].filter(Boolean).map((reason) =>
    M.request.selector('offcpu', { service, reason }))) : [];
await ranking(services, range, ways);
const host = (wanted || '').split(',').includes('*');
for (const name of services.length ? services : [''])
  await series(range, TABLES.flatMap((t) => M[t].queries(name)), ways);
for (const query of queries)
  await places(answers, query, range);
if (host)
  await series(range, VIEWS.filter((v) => v.profiles).flatMap((v) =>
    v.series.flatMap((t) => M[t].queries(''))), ways);
await others(answers, range);
await ofServices(answers, services, range);
const snapshot = { version: 2, by, taken: new Date(range.until * 1000)
  .toISOString(), ...range, answers, series: recorded,
...await latencies(services, range),
profiles: await profiles(host ? [...queries, type.name] : queries,
  [...dragged, ...more.flatMap(ofAll)], range) };
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
