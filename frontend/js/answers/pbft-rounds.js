/*
 * Rounds of real replicas, out of answers of api/v1/series and percentiles,
 * and what is to be said of each.  Pure.  No data stays null: a replica that
 * is watched and says nothing has zeros.
 */
(function (ns) {
  'use strict';

  const STATES = ['request', 'pre-prepare', 'prepare', 'commit', 'execute'];
  const PHASES = ['prepare', 'commit', 'execute'];
  const SILENT_S = 30, STUCK_S = 60;
  const BEHIND_S = 10, BEHIND_MIN = 10; /* of rounds, at the first one's rate */
  const PROPOSE_STEPS = 3; /* in which several propose: no change of views */

  const keyOf = (labels) => JSON.stringify([labels.service || '',
    labels.instance || '']);
  const byName = (a, b) => a.service.localeCompare(b.service) ||
    a.instance.localeCompare(b.instance, 'en', { numeric: true });

  function replicaOf(map, labels) {
    const key = keyOf(labels);
    if (!map.has(key))
      map.set(key, { service: labels.service || '',
        instance: labels.instance || '', cluster: labels.cluster || '',
        states: {}, phases: {}, lost: 0, all: null, rate: 0, first: null,
        heard: null, executed: null, seen: null });
    return map.get(key);
  }

  function sumOf(points) {
    return points.reduce((sum, [, v]) => (v === null ? sum
      : (sum || 0) + v), null);
  }

  /* Rounds a second of the steps in which it was counted. */
  function rateOf(points, step) {
    const known = points.filter(([, v]) => v !== null);
    return known.length ? sumOf(known) / (known.length * step) : 0;
  }

  function addState(r, s, step) {
    const execute = s.labels.state === 'execute';
    r.states[s.labels.state] = sumOf(s.points);
    if (execute)
      r.rate = rateOf(s.points, step);
    for (const [t, v] of s.points) {
      if (v !== null) {
        r.seen = Math.max(r.seen || 0, t);
        r.first = r.first === null ? t : Math.min(r.first, t);
      }
      if (v > 0)
        r.heard = Math.max(r.heard || 0, t);
      if (v > 0 && execute)
        r.executed = Math.max(r.executed || 0, t);
    }
  }

  /* The newest value of a series. */
  function newest(points) {
    const known = points.filter(([, v]) => v !== null);
    return known.length ? known[known.length - 1][1] : null;
  }

  /* Services in which several replicas propose at the same time: they are
   * several clusters. */
  function several(rounds) {
    const at = new Map(), out = new Set();
    for (const { labels, points } of rounds.series)
      if (labels.state === 'request')
        for (const [t, v] of points)
          if (v > 0) {
            const key = JSON.stringify([labels.service || '', t]);
            at.set(key, (at.get(key) || 0) + 1);
          }
    const steps = new Map();
    for (const [key, n] of at)
      if (n > 1) {
        const [service] = JSON.parse(key);
        steps.set(service, (steps.get(service) || 0) + 1);
        if (steps.get(service) >= PROPOSE_STEPS)
          out.add(service);
      }
    return out;
  }

  /* The number of the column of that name. */
  function addPhase(r, s, columns) {
    const p = s.points[0], of = (name) => p[columns.indexOf(name)];
    if (p && of('count') > 0)
      r.phases[s.labels.phase] = { p50: of('p50'), p99: of('p99'),
        count: of('count') };
  }

  const ends = (t, step) => (t === null ? null : t + step);
  const past = (t, { step, until }, s) => t === null ||
    until - ends(t, step) > Math.max(s, 2 * step);

  /*
   * Sets `most` and `behind`, null where it is not known of whom: how many
   * rounds fewer than the first that runs of its cluster a replica has
   * executed.  `all` counts from where the cluster is watched, on and on though
   * a replica begins anew: what it missed is missing until it has caught up.
   */
  function compare(r, list, rounds, mixed) {
    const clusters = new Set(list.filter((o) => o.service === r.service)
      .map((o) => o.cluster));
    const apart = mixed.has(r.service);
    const of = list.filter((o) => o.service === r.service && (!apart ||
      o.cluster === r.cluster) && !past(o.seen, rounds, SILENT_S));
    const known = [r, ...of].every((o) => o.all !== null);
    const done = (o) => (known ? o.all : o.states.execute);
    const mine = done(r);
    r.most = Math.max(0, ...of.map((o) => done(o) || 0));
    r.behind = mine === null || mine === undefined ||
      (apart && clusters.size < 2) ? null : Math.max(0, r.most - mine);
    r.limit = Math.max(BEHIND_MIN, BEHIND_S * Math.max(0,
      ...of.map((o) => o.rate)));
  }

  /* `over`: since it has been so for longer than that many seconds. */
  function verdict(r, rounds) {
    const { step, until } = rounds, over = until - r.first;
    const since = (level, t) => ({ level, since: ends(t, step),
      over: t === null ? over : null });
    if (past(r.seen, rounds, SILENT_S))
      return since('gone', r.seen);
    if (past(r.heard, rounds, SILENT_S))
      return since('silent', r.heard);
    if (past(r.executed, rounds, STUCK_S) && r.states.execute !== undefined)
      return since('stuck', r.executed);
    return { level: r.behind > r.limit ? 'behind' : 'ok', since: null,
      over: null };
  }

  /*
   * `rounds`: pbft_rounds_total with fn=increase; `phases`: percentiles of
   * pbft_phase_seconds in one step; `lost`: memlens_pbft_lost_total in one;
   * `executed`: pbft_rounds_total{state="execute"} with fn=last, or none.
   * [{service, instance, states, phases, most, behind, lost, heard, seen,
   * verdict}], by name.
   */
  function replicas(rounds, phases, lost, executed = { series: [] }) {
    const map = new Map(), mixed = several(rounds);
    for (const s of rounds.series)
      addState(replicaOf(map, s.labels), s, rounds.step);
    for (const s of executed.series)
      if (map.has(keyOf(s.labels)))
        replicaOf(map, s.labels).all = newest(s.points);
    for (const s of phases.series)
      addPhase(replicaOf(map, s.labels), s, phases.columns);
    for (const s of lost.series)
      if (s.labels.service)
        replicaOf(map, s.labels).lost += sumOf(s.points) || 0;
    const list = [...map.values()].sort(byName);
    for (const r of list) {
      compare(r, list, rounds, mixed);
      r.verdict = verdict(r, rounds);
    }
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

  /* What is said of a replica, at a time of which `clock` makes words. */
  const at = (v, clock) => (v.since !== null ? ' since ' + clock(v.since)
    : v.over !== null ? ' for more than ' + (v.over < 60
      ? Math.floor(v.over) + ' s' : Math.floor(v.over / 60) + ' min') : '');
  const WORDS = {
    ok: () => 'executes',
    behind: () => 'behind',
    stuck: (v, clock) => 'agrees, but executes nothing' + at(v, clock),
    silent: (v, clock) => 'silent' + at(v, clock),
    gone: (v, clock) => 'not seen' + at(v, clock)
  };
  const words = (v, clock) => WORDS[v.level](v, clock);

  ns.pbftRounds = { STATES, PHASES, EXECUTED: {
    query: 'pbft_rounds_total{state="execute"}', fn: 'last' },
  replicas, rate, words };
})(globalThis.MemLens = globalThis.MemLens || {});
