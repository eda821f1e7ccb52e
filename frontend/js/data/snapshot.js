/*
 * Answers out of a snapshot, a recording of what the API knew of a range:
 *
 *   {version: 2, by: version of MemLens, taken: RFC 3339, from, until,
 *    answers: {request key: JSON or text},
 *    series: {request key: see recorded-series.js},
 *    profiles: see recorded-profiles.js, marks: as of api/v1/marks,
 *    threads, heat: {query: see recorded-latency.js}}
 *
 * Keys are those of MemLens.request.key.  Profiles and series are kept by
 * slot and exact: every range of whole slots is answered as the API answered
 * it, by the functions that make tables, sandwiches and comparisons of any
 * tree.  Pure, but for load().
 */
(function (ns) {
  'use strict';

  const FILE = 'snapshots/snapshot.js';

  function flame(snapshot, params) {
    const found = ns.recordedProfiles.ask(snapshot.profiles, params);
    return found && { version: 1, flamebearer: ns.flameTree.encode(found.f),
      metadata: { format: 'single', spyName: 'memlens', sampleRate: 1e9,
        units: 'samples' }, memlens: found.memlens };
  }

  /* Table and sandwich: callers stay callers whatever the graph shows. */
  function whole(snapshot, name, p) {
    const found = ns.recordedProfiles.ask(snapshot.profiles,
      Object.assign({}, p, { reverse: undefined }));
    if (!found)
      return undefined;
    const over = name === 'table.json' && p.function
      ? { over_time: ns.recordedProfiles.overTime(snapshot.profiles, p) }
      : {};
    return Object.assign({}, found.memlens, name === 'table.json'
      ? ns.flameAnswers.table(found.f, p)
      : ns.flameAnswers.sandwich(found.f, p.function), over);
  }

  function diff(snapshot, p) {
    if (p.normalise === 'requests')
      throw new ns.api.ApiError(404, 'requests are not in the snapshot',
        'normalise');
    const pair = (more) => [Object.assign({}, p, more),
      Object.assign({}, p, more, { query: p['query-b'] || p.query,
        from: p['from-b'], until: p['until-b'] })];
    const sides = pair({}).map((x) => flame(snapshot, x));
    const flat = pair({ reverse: undefined }).map((x) =>
      ns.recordedProfiles.ask(snapshot.profiles, x));
    return sides.every(Boolean) ? ns.flameAnswers.found(
      ns.flameDiff.fromPair(...sides, p.normalise, flat.map((x) => x.f)),
      flat.map((x) => x.f), p) : undefined;
  }

  /* Each metric once: as its mean where its last value was recorded, too. */
  function metrics(snapshot) {
    const out = new Map();
    for (const last of [false, true])
      for (const r of Object.values(snapshot.series))
        for (const s of r.series) {
          const id = JSON.stringify([s.name, s.labels]);
          if ((s.fn === 'last') === last && !out.has(id))
            out.set(id, [r, s]);
        }
    return [...out.values()];
  }

  /* Both ranges of every series that was recorded, in whole slots. */
  function compare(snapshot, p) {
    const { SLOT_S } = ns.time, out = [];
    const [a, b] = [['from', 'until'], ['from-b', 'until-b']].map(([x, y]) =>
      ({ from: Math.floor(p[x] / SLOT_S) * SLOT_S,
        until: Math.ceil(p[y] / SLOT_S) * SLOT_S }));
    const lacks = [];
    for (const [r, s] of metrics(snapshot)) {
      out.push(ns.runs.compareSeries(s, ns.recordedSeries.comparedBy(s),
        [a, b].map((range) => ns.recordedSeries.over(r, s, range))));
      lacks.push(...r.partial || []);
    }
    return Object.assign(ns.runs.compared(out, a, b),
      { partial: [a, b].flatMap((x) => ns.time.stretches(lacks, x)) });
  }

  /* Only the first target's graph is recorded: by its name, too; with what
   * it costs of all of the recording where that is of this profile. */
  function graphOf(snapshot, name, { depth, target, query, plain }) {
    const of = (n, p) => snapshot.answers[ns.request.key(n, p)];
    const known = of('graph.json', { depth });
    return !known || target && target !== known.target ? undefined
      : query && of(name, { depth, query, plain }) || of(name, { depth });
  }

  /* Of which queries are the costs of the graph recorded? */
  const hasCost = (snapshot, depth, query) => !!snapshot &&
    !!snapshot.answers[ns.request.key('graph.json', { depth, query })];

  function series(snapshot, params) {
    const r = snapshot.series[ns.request.key('series', params)];
    return r && ns.recordedSeries.answer(r, Object.assign({ from: r.from,
      until: snapshot.until }, params));
  }

  /* {threads, heat: {query: the answer of all slots}}. */
  function gathered(snapshot, what, p) {
    const r = (snapshot[what] || {})[p.query];
    return r && ns.recordedLatency[what](r, p);
  }

  /* A recording of before the route has one type. */
  const BEFORE = { types: [{ name: 'cpu', title: 'CPU time',
    unit: 'nanoseconds', kind: 'flow', time: true }] };

  /* name: answer(snapshot, params, name) */
  const ROUTES = {
    'diff.json': diff,
    'compare.json': compare,
    'flamegraph.json': flame,
    'sandwich.json': (s, p, name) => whole(s, name, p),
    'table.json': (s, p, name) => (p.places
      ? s.answers[ns.request.key(name, { query: p.query, places: p.places })]
      : whole(s, name, p)),
    'graph.json': (s, p, name) => graphOf(s, name, p),
    'graph.svg': (s, p, name) => graphOf(s, name, p),
    'graph.dot': (s, p, name) => graphOf(s, name, p),
    runs: (s) => s.answers.runs || { runs: [] },
    marks: (s, p) => ({ marks: (s.marks || []).filter((m) =>
      m.time >= p.from && m.time < p.until && (!p.service || !m.service ||
        m.service === p.service)), left_out: 0 }),
    types: (s) => s.answers.types || BEFORE,
    threads: (s, p) => gathered(s, 'threads', p),
    'heatmap.json': (s, p) => gathered(s, 'heat', p),
    series
  };

  /* The recorded answer, or undefined when there is none. */
  function answer(snapshot, name, params) {
    return Object.hasOwn(ROUTES, name)
      ? ROUTES[name](snapshot, params || {}, name)
      : snapshot.answers[ns.request.key(name, params)];
  }

  let loading = null;

  /* Fetches the recording by a script tag: that works from files too. */
  function load() {
    if (!loading)
      loading = new Promise((resolve) => {
        if (ns.snapshot)
          return resolve(ns.snapshot);
        const s = document.createElement('script');
        s.src = FILE;
        s.onload = () => resolve(ns.snapshot || null);
        s.onerror = () => {
          loading = null; /* another time, perhaps */
          s.remove();
          resolve(null);
        };
        document.head.append(s);
        return undefined;
      });
    return loading;
  }

  /* Is a profile of the whole host recorded? */
  function hasHost(snapshot) {
    return !!snapshot && Object.keys(snapshot.profiles.of)
      .some((query) => !query.includes('{'));
  }

  ns.recording = { answer, hasCost, hasHost, load };
})(globalThis.MemLens = globalThis.MemLens || {});
