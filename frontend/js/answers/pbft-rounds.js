/*
 * Rounds of real replicas, out of answers of api/v1/series and percentiles,
 * and what is to be said of each.  Pure.  No data stays null: a replica that
 * is watched and says nothing has zeros.
 */
(function (ns) {
  'use strict';

  const STATES = ['request', 'pre-prepare', 'prepare', 'commit', 'execute'];
  const PHASES = ['prepare', 'commit', 'execute'];
  const SILENT_S = 30, BEHIND = 0.05, BEHIND_MIN = 10;

  const keyOf = (labels) => JSON.stringify([labels.service || '',
    labels.instance || '']);
  const byName = (a, b) => a.service.localeCompare(b.service) ||
    a.instance.localeCompare(b.instance, 'en', { numeric: true });

  function replicaOf(map, labels) {
    const key = keyOf(labels);
    if (!map.has(key))
      map.set(key, { service: labels.service || '',
        instance: labels.instance || '', states: {}, phases: {}, lost: 0,
        heard: null, seen: null });
    return map.get(key);
  }

  function sumOf(points) {
    return points.reduce((sum, [, v]) => (v === null ? sum
      : (sum || 0) + v), null);
  }

  function addState(r, s) {
    r.states[s.labels.state] = sumOf(s.points);
    for (const [t, v] of s.points) {
      if (v !== null)
        r.seen = Math.max(r.seen || 0, t);
      if (v > 0)
        r.heard = Math.max(r.heard || 0, t);
    }
  }

  /* The number of the column of that name. */
  function addPhase(r, s, columns) {
    const p = s.points[0], of = (name) => p[columns.indexOf(name)];
    if (p && of('count') > 0)
      r.phases[s.labels.phase] = { p50: of('p50'), p99: of('p99'),
        count: of('count') };
  }

  function verdict(r, list, step, until) {
    const done = r.states.execute;
    r.most = Math.max(0, ...list.filter((o) => o.service === r.service)
      .map((o) => o.states.execute || 0));
    r.behind = done === null || done === undefined ? null : r.most - done;
    const ends = (t) => (t === null ? null : t + step);
    if (until - ends(r.seen) > Math.max(SILENT_S, 2 * step))
      return { level: 'gone', since: ends(r.seen) };
    if (r.heard === null || until - ends(r.heard) >
        Math.max(SILENT_S, 2 * step))
      return { level: 'silent', since: ends(r.heard) };
    if (done === 0)
      return { level: 'stuck', since: null };
    if (r.behind > Math.max(BEHIND_MIN, BEHIND * r.most))
      return { level: 'behind', since: null };
    return { level: 'ok', since: null };
  }

  /*
   * `rounds`: pbft_rounds_total with fn=increase; `phases`: percentiles of
   * pbft_phase_seconds in one step; `lost`: memlens_pbft_lost_total in one.
   * [{service, instance, states, phases, most, behind, lost, heard, seen,
   * verdict}], by name.
   */
  function replicas(rounds, phases, lost) {
    const map = new Map();
    for (const s of rounds.series)
      addState(replicaOf(map, s.labels), s);
    for (const s of phases.series)
      addPhase(replicaOf(map, s.labels), s, phases.columns);
    for (const s of lost.series)
      if (s.labels.service)
        replicaOf(map, s.labels).lost += sumOf(s.points) || 0;
    const list = [...map.values()].sort(byName);
    for (const r of list)
      r.verdict = verdict(r, list, rounds.step, rounds.until);
    return list;
  }

  /* Rounds a second that the first of all replicas has executed, step by
   * step: {t, v}, a column. */
  function rate(rounds) {
    const out = new Map();
    for (const s of rounds.series)
      if (s.labels.state === 'execute')
        for (const [t, v] of s.points)
          if (v !== null)
            out.set(t, Math.max(out.get(t) || 0, v / rounds.step));
          else if (!out.has(t))
            out.set(t, null);
    const t = [...out.keys()].sort((a, b) => a - b);
    return { t, v: t.map((x) => out.get(x)) };
  }

  ns.pbftRounds = { STATES, PHASES, replicas, rate };
})(globalThis.MemLens = globalThis.MemLens || {});
