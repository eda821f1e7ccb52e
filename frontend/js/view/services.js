/*
 * Which services there are and which one to show first: the one with a
 * database's statistics or rounds, else the busiest.  What was chosen once stays: a
 * service without data is said to have none, beside what there is.
 */
(function (ns) {
  'use strict';

  const S = ns.series;
  const ALL = '*', OFFERS = 6;
  const QUERIES = [{ key: 'up', query: 'leveldb_up', fn: 'last' },
    { key: 'rounds', query: 'pbft_rounds_total{state="execute"}',
      fn: 'increase' },
    { key: 'cpu', query: 'namedprocess_namegroup_cpu_seconds_total',
      fn: 'rate' }];
  const POINTS = 20;

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

  /* The executable of its first process; its name where that is not told. */
  const programOf = ({ name, processes: [first] = [] }) =>
    (first && / (\/.*)$/.exec(first.command) || [null, name])[1];

  /* Databases first, then by CPU; [{name, profiles: types of them, program,
   * database, cpu, label}]; pure. */
  function rank(services, databases, cpu) {
    const list = services.map((s) => ({ name: s.name, profiles: s.profiles || [],
      program: programOf(s), database: databases.has(s.name), cpu: cpu[s.name] || 0 }));
    list.sort((a, b) => b.database - a.database || b.cpu - a.cpu ||
      (a.name < b.name ? -1 : 1));
    for (const s of list)
      s.label = s.name + (s.database ? ' (database)' : '');
    return list;
  }

  async function load(range, signal) {
    const answer = await ns.api.get('services',
      ns.mode.current === 'offline' ? {}
        : { from: range.from, until: range.until }, { signal });
    const r = await ns.api.series(QUERIES, range, ns.time.step(range.until -
      range.from, POINTS, range.slot), signal);
    return rank(answer.services || [],
      new Set([...r.up.cols, ...r.rounds.cols].map((c) => c.labels.service)),
      busyness(r.cpu.cols));
  }

  /*
   * What has to be said beside the chosen name ('' where nothing is chosen
   * yet): {text, offers: [name…]}, null where it has data.  demo: the list is
   * the recording's; host: the whole host can be chosen; error: why there is
   * no list.  Pure.
   */
  function note(name, list, { demo, host = true, error } = {}) {
    const all = host ? [ALL] : [];
    if (error && (!name || !list.length))
      return { text: 'Which services there are is not known: ' + error + '.',
        offers: name === ALL ? [] : all };
    if (name === ALL && host || list.some((s) => s.name === name))
      return null;
    const offers = list.slice(0, OFFERS).map((s) => s.name);
    if (!name)
      return { text: 'No service has data in this range.', offers: [] };
    return { text: demo ? (name === ALL ? 'The profile of the whole host'
      : '“' + name + '”') + ' is not in the recorded demo.'
      : 'No data of “' + name + '” in this range.',
    offers: offers.concat(all) };
  }

  /* The note as a line below the range bar; a click on an offer chooses. */
  function line() {
    const { h } = ns.dom;
    const node = h('p', { class: 'hint service-note', role: 'status',
      hidden: true });
    return { node, show(said) {
      node.hidden = !said;
      node.replaceChildren(...(said ? [said.text, ...said.offers.map((n) =>
        h('button', { type: 'button', class: 'button', 'data-value': n,
          text: n === ALL ? 'whole host' : n, onclick: () =>
            ns.view.set({ service: n, instance: '', fn: '',
              zoom: '' }) }))] : []));
    } };
  }

  /* ALL: what stands in the address for the whole host. */
  ns.services = { load, rank, note, line, ALL, QUERIES };
})(globalThis.MemLens = globalThis.MemLens || {});
