/*
 * Which services there are and which one to show first: the one with a
 * database's statistics, else the busiest.
 */
(function (ns) {
  'use strict';

  const S = ns.series;
  const LOOK_BACK_S = 600;

  /* {name: mean rate} of the services that burn CPU. */
  function busyness(cols) {
    const out = {};
    for (const [name, list] of S.by(cols, 'groupname')) {
      const e = S.extent(S.sum(list));
      if (e)
        out[name] = e.mean;
    }
    return out;
  }

  /* Databases first, then by CPU; [{name, database, cpu, label}]; pure. */
  function rank(services, databases, cpu) {
    const list = services.map((s) => ({ name: s.name,
      database: databases.has(s.name), cpu: cpu[s.name] || 0 }));
    list.sort((a, b) => b.database - a.database || b.cpu - a.cpu ||
      (a.name < b.name ? -1 : 1));
    for (const s of list)
      s.label = s.name + (s.database ? ' (database)' : '');
    return list;
  }

  async function load(range, signal) {
    const answer = await ns.api.get('services', ns.mode.current === 'live'
      ? { from: range.from, until: range.until } : {}, { signal });
    const recent = { from: Math.max(range.from, range.until - LOOK_BACK_S),
      until: range.until };
    const r = await ns.api.series([
      { key: 'up', query: 'leveldb_up', fn: 'last' },
      { key: 'cpu', query: 'namedprocess_namegroup_cpu_seconds_total',
        fn: 'rate' }], recent, ns.time.step(LOOK_BACK_S, 20), signal);
    return rank(answer.services || [],
      new Set(r.up.cols.map((c) => c.labels.service)), busyness(r.cpu.cols));
  }

  /* ALL: what stands in the address for the whole host. */
  ns.services = { load, rank, ALL: '*' };
})(globalThis.MemLens = globalThis.MemLens || {});
