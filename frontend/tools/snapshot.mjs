/*
 * Records a snapshot for the Offline mode from a running MemLens:
 *
 *   node tools/snapshot.mjs http://host/memlens/ [OUT [SECONDS [SERVICES]]]
 *
 * It asks what the pages ask, by their own tables of queries, and writes the
 * answers as snapshots/snapshot.js.  What cannot be had is left out, and
 * said; nothing but the API is read, and no path of the host is kept.  SERVICES is a list with commas, by
 * default the three that the pages rank highest.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';
import { fileURLToPath } from 'node:url';

const HERE = new URL('../', import.meta.url);
const SERVICES = 3, PROCESSES = 3, SLICES = 12, LIMIT = 1.5e6, PLACES = 300,
  BUCKET_POINTS = 45;
const NODES = { whole: 1500, slice: 420 };

function loadPages() {
  globalThis.MemLens = { dom: {} };
  for (const name of ['format', 'time', 'request', 'series', 'storage',
    'operations', 'disk', 'host', 'cpu-tab', 'services'])
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

/* Six significant digits are more than a pixel can show; but a time is
 * whole seconds. */
function rounded(key, value) {
  return typeof value !== 'number' || Number.isInteger(value) ? value
    : Math.abs(value) >= 1e5 ? Math.round(value)
      : Number(value.toPrecision(6));
}

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

async function series(answers, range, rows) {
  const step = M.time.step(span, 180);
  for (const { query, fn, step: own } of rows)
    await keep(answers, 'series', { query, fn, ...range, step: own || step });
}

/* Only the names that frames still have after truncation. */
function compact({ flamebearer: fb, memlens }) {
  const used = new Map([[0, 0]]);
  for (const level of fb.levels)
    for (let k = 3; k < level.length; k += 4) {
      if (!used.has(level[k]))
        used.set(level[k], used.size);
      level[k] = used.get(level[k]);
    }
  const pick = (list) => [...used.keys()].map((i) => list[i]);
  fb.names = pick(fb.names);
  if (memlens && memlens.kinds)
    memlens.kinds = pick(memlens.kinds);
}

async function flame(answers, service, range, nodes) {
  const answer = await keep(answers, 'flamegraph.json', { query:
    M.request.selector('cpu', { service }), ...range, 'max-nodes': nodes });
  if (answer)
    compact(answer);
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
  const found = await keep(answers, 'services', {}) || { services: [] };
  M.mode = { current: 'live' };
  M.api = {
    get: async () => found,
    series: async (table) => Object.fromEntries(await Promise.all(table.map(
      async ({ key, query, fn }) => [key, { cols: M.series.columns(
        await keep(answers, 'series', { query, fn, ...range,
          step: M.time.step(span, 60) })) }])))
  };
  const only = wanted && wanted.split(',');
  const ranked = (await M.services.load(range)).map((s) => s.name)
    .filter((name) => !only || only.includes(name)).slice(0, SERVICES);
  found.services = (found.services || [])
    .filter((s) => ranked.includes(s.name));
  for (const s of found.services)
    s.processes = (s.processes || []).slice(0, PROCESSES)
      .map((p) => ({ ...p, command: p.command.split(' ')[0] }));
  for (const answer of Object.values(answers))
    if (answer.series)
      answer.series = answer.series.filter(({ labels: l }) =>
        ranked.includes(l.service || l.groupname));
  return ranked;
}

async function slices(services, range) {
  const length = span / SLICES;
  const list = [];
  for (let i = 0; i < SLICES; i++) {
    const part = { from: range.from + i * length,
      until: range.from + (i + 1) * length };
    const answers = {};
    for (const name of services)
      await flame(answers, name, part, NODES.slice);
    list.push({ ...part, answers });
  }
  return list;
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
const answers = {};
const services = await chosen(answers, range);
for (const name of services) {
  await series(answers, range, [...M.storage.queries(name),
    ...M.cpuTab.queries(name), ...M.operations.queries(name).map((q) =>
      ({ ...q, step: M.time.step(span, BUCKET_POINTS) }))]);
  await flame(answers, name, range, NODES.whole);
  await places(answers, name, range);
}
await series(answers, range, [...M.disk.queries(), ...M.host.queries()]);
await keep(answers, 'runs', {});
await graphs(answers);
const snapshot = { version: 1, by, taken: new Date(range.until * 1000)
  .toISOString(), ...range, answers, slices: await slices(services, range) };
const text = '/* Made by tools/snapshot.mjs. */\n' +
  '(window.MemLens = window.MemLens || {}).snapshot =\n' +
  JSON.stringify(snapshot, rounded)
    .replace(/(?<=[}\]]),(?="[a-z])/g, ',\n') + ';\n';
const file = out || fileURLToPath(new URL('snapshots/snapshot.js', HERE));
writeFileSync(file, text);
console.log(`${file}: ${Object.keys(answers).length} answers, ` +
  `${services.join(', ')}, ${(text.length / 1024).toFixed(0)} KiB`);
if (text.length > LIMIT) {
  console.error('larger than ' + LIMIT + ' bytes');
  process.exit(1);
}
