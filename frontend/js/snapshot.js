/*
 * Answers out of a snapshot, a recording of the API's own JSON:
 *
 *   {version: 1, by: version of MemLens, taken: RFC 3339, from, until,
 *    answers: {request key: JSON or text},
 *    slices: [{from, until, answers: {…}}]}
 *
 * Keys are those of MemLens.request.key.  Series are cut to the range that
 * is asked for; a flame graph of a part of the range is the sum of the
 * slices that lie mostly inside it, and says which range that is.
 * Comparisons are made from both.  Pure, but for load().
 */
(function (ns) {
  'use strict';

  const FILE = 'snapshots/snapshot.js';

  function overlap(s, from, until) {
    return (Math.min(s.until, until) - Math.max(s.from, from)) /
      (s.until - s.from);
  }

  function sumLost(list) {
    const out = {};
    for (const lost of list)
      for (const [k, v] of Object.entries(lost || {}))
        out[k] = (out[k] || 0) + v;
    return out;
  }

  /* The slices best covering the range: at least the nearest one. */
  function chosen(slices, key, from, until) {
    const usable = slices.filter((s) => s.answers[key]);
    const inside = usable.filter((s) => overlap(s, from, until) >= 0.5);
    if (inside.length || !usable.length)
      return inside;
    const middle = (from + until) / 2;
    const away = (s) => Math.abs((s.from + s.until) / 2 - middle);
    return [usable.reduce((a, b) => (away(b) < away(a) ? b : a))];
  }

  function flame(snapshot, key, from, until) {
    const whole = snapshot.answers[key];
    const slices = snapshot.slices || [];
    const all = from <= snapshot.from + 10 && until >= snapshot.until - 10;
    const parts = all ? [] : chosen(slices, key, from, until);
    if (parts.length === 0)
      return whole;
    const answers = parts.map((s) => s.answers[key]);
    const sum = ns.flameTree.merge(answers.map(ns.flameTree.decode));
    const memlens = answers.map((a) => a.memlens || {});
    return Object.assign({}, answers[0], {
      flamebearer: ns.flameTree.encode(sum),
      memlens: Object.assign({}, memlens[0], { kinds: sum.kinds,
        from: parts[0].from, until: parts[parts.length - 1].until,
        slots: memlens.reduce((n, m) => n + (m.slots || 0), 0),
        samples: memlens.reduce((n, m) => n + (m.samples || 0), 0),
        lost: sumLost(memlens.map((m) => m.lost)) })
    });
  }

  /* focus, ignore and reverse are done here; modules are not recorded. */
  function shaped(found, params) {
    const { focus, ignore, reverse } = params;
    if (!found || !(focus || ignore || reverse))
      return found;
    const f = ns.flameTree.reshape(ns.flameTree.decode(found), params);
    return Object.assign({}, found, {
      flamebearer: ns.flameTree.encode(f),
      memlens: Object.assign({}, found.memlens, { kinds: f.kinds }) });
  }

  function flameOf(snapshot, params, from, until) {
    const query = params.query;
    const key = ns.request.key('flamegraph.json', { query });
    return snapshot.answers[key] && flame(snapshot, key, from, until);
  }

  /* One function over time: a point a slice, as table.json has them. */
  function overTime(snapshot, p) {
    const key = ns.request.key('flamegraph.json', { query: p.query });
    const slices = (snapshot.slices || []).filter((s) => s.answers[key] &&
      overlap(s, p.from, p.until) > 0);
    if (!slices.length)
      return undefined;
    const points = slices.map((s) => {
      const f = ns.flameTree.decode(shaped(s.answers[key],
        { focus: p.focus, ignore: p.ignore }));
      const row = ns.flameTree.functions(f)
        .find((r) => r.name === p.function);
      return [s.from, row ? row.self : 0, row ? row.total : 0];
    });
    return { over_time: { step: slices[0].until - slices[0].from, points } };
  }

  /* Table and sandwich, of the tree that answers the flame graph. */
  function exact(snapshot, name, p) {
    const found = shaped(flameOf(snapshot, p, p.from, p.until), p);
    const f = found && ns.flameTree.decode(found);
    return found && Object.assign({}, found.memlens, name === 'table.json'
      ? ns.flameAnswers.table(f, p)
      : ns.flameAnswers.sandwich(f, p.function));
  }

  function diff(snapshot, p) {
    const a = flameOf(snapshot, p, p.from, p.until);
    const b = flameOf(snapshot, { query: p['query-b'] || p.query },
      p['from-b'], p['until-b']);
    const sides = [a, b].map((x) => x && shaped(x, p));
    return a && b && ns.flameAnswers.found(ns.flameDiff.fromPair(sides[0],
      sides[1], p.normalise), sides.map(ns.flameTree.decode), p);
  }

  /* Means over both ranges of every series that was recorded. */
  function compare(snapshot, p) {
    const rows = [];
    const seen = new Set();
    for (const [key, found] of Object.entries(snapshot.answers))
      if (key.startsWith('series?'))
        for (const s of found.series || []) {
          const id = s.name + JSON.stringify(s.labels) + s.fn;
          if (!seen.has(id))
            rows.push(ns.runs.compareSeries(s, p, found.step));
          seen.add(id);
        }
    return ns.runs.compared(rows, p);
  }

  /* Only the first target's graph is recorded: by its name, too. */
  function graphOf(snapshot, name, { depth, target }) {
    const of = (n) => snapshot.answers[ns.request.key(n, { depth })];
    const known = of('graph.json');
    return known && (!target || target === known.target) ? of(name)
      : undefined;
  }

  /* The recorded answer, or undefined when there is none. */
  function answer(snapshot, name, params) {
    if (name === 'diff.json')
      return diff(snapshot, params);
    if (name === 'compare.json')
      return compare(snapshot, params);
    if (name === 'table.json' && params.function)
      return overTime(snapshot, params);
    if (name === 'table.json' && params.places)
      return snapshot.answers[ns.request.key(name,
        { query: params.query, places: params.places })];
    if (name === 'table.json' || name === 'sandwich.json')
      return exact(snapshot, name, params);
    if (name === 'flamegraph.json')
      return shaped(flameOf(snapshot, params, params.from === undefined
        ? snapshot.from : params.from, params.until === undefined
        ? snapshot.until : params.until), params);
    if (/^graph\./.test(name))
      return graphOf(snapshot, name, params);
    if (name === 'runs')
      return snapshot.answers.runs || { runs: [] };
    const key = ns.request.key(name, params);
    const found = snapshot.answers[key];
    const { from, until } = params || {};
    if (found === undefined || from === undefined)
      return found;
    if (name === 'series')
      return ns.series.clip(found, from, until);
    return found;
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

  ns.recording = { answer, load };
})(globalThis.MemLens = globalThis.MemLens || {});
