/*
 * Rounds of real replicas, out of answers of api/v1/series and percentiles,
 * and what is to be said of each.  Pure.  No data stays null: a replica that
 * is watched and says nothing has zeros.
 *
 * What a cluster executed in a step is how far the foremost of those that
 * execute in it has come: of whoever lives then.  What a replica missed is what
 * its cluster executed and it did not, from the step after the one in which it
 * is first seen; what it executes beyond the foremost is caught up.  All is
 * made of increases: counts begin with a process or the daemon, and say
 * nothing beside each other.
 */
(function (ns) {
  'use strict';

  const STATES = ['request', 'pre-prepare', 'prepare', 'commit', 'execute'];
  const PHASES = ['prepare', 'commit', 'execute'];
  const SPAN_S = 3600; /* in which rounds are missed */
  const SILENT_S = 30, STUCK_S = 60;
  const RATE_S = 60, NOW_S = 120, BEHIND = 0.9; /* of the rounds of its cluster */
  const MISSED = 0.05;
  const PROPOSE_STEPS = 3; /* in which two propose: no change of views */

  const keyOf = (labels) => JSON.stringify([labels.service || '',
    labels.instance || '']);
  const byName = (a, b) => a.service.localeCompare(b.service) ||
    a.instance.localeCompare(b.instance, 'en', { numeric: true });

  function replicaOf(map, labels) {
    const key = keyOf(labels);
    if (!map.has(key))
      map.set(key, { service: labels.service || '',
        instance: labels.instance || '', cluster: labels.cluster || '',
        states: {}, phases: {}, lost: 0, done: new Map(), asked: 0, from: null,
        first: null, heard: null, executed: null, seen: null, missed: 0,
        lacks: 0 });
    return map.get(key);
  }

  function sumOf(points) {
    return points.reduce((sum, [, v]) => (v === null ? sum
      : (sum || 0) + v), null);
  }

  const later = (a, b) => (a === null ? b : Math.max(a, b));
  const sooner = (a, b) => (a === null ? b : Math.min(a, b));
  const isNow = (t, { step, until }, s = NOW_S) => t + step > until - s;

  function addExecuted(r, t, v) {
    r.done.set(t, (r.done.get(t) || 0) + v);
    r.from = sooner(r.from, t);
    if (v > 0)
      r.executed = later(r.executed, t);
  }

  /* Of one that was started with another file there are two series. */
  function addState(r, s, rounds) {
    const { state } = s.labels, sum = sumOf(s.points);
    r.states[state] = sum === null ? r.states[state] || null
      : (r.states[state] || 0) + sum;
    for (const [t, v] of s.points.filter((p) => p[1] !== null)) {
      if (r.seen === null || t >= r.seen)
        r.cluster = s.labels.cluster || '';
      r.seen = later(r.seen, t);
      r.first = sooner(r.first, t);
      if (v > 0)
        r.heard = later(r.heard, t);
      if (state === 'execute')
        addExecuted(r, t, v);
      if (state === 'request' && isNow(t, rounds))
        r.asked += v;
    }
  }

  const groupOf = (service, name) => JSON.stringify([service, name]);

  /* Of what partOf() makes of labels: those in which two replicas propose at
   * the same time, again and again: they are several clusters. */
  function several(rounds, partOf) {
    const at = new Map(), pairs = new Map(), out = new Set();
    for (const { labels, points } of rounds.series)
      for (const [t, v] of labels.state === 'request' ? points : [])
        if (v > 0) {
          const key = JSON.stringify([partOf(labels), t]);
          at.set(key, (at.get(key) || []).concat(labels.instance || ''));
        }
    for (const [key, who] of at)
      who.forEach((a, i) => who.slice(i + 1).forEach((b) => {
        const [name] = JSON.parse(key), pair = JSON.stringify([name, a, b]);
        pairs.set(pair, (pairs.get(pair) || 0) + 1);
        if (pairs.get(pair) >= PROPOSE_STEPS)
          out.add(name);
      }));
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

  /* What the cluster executed in a step; null: nobody was watched. */
  function advance(t, before, began) {
    const done = (r) => r.done.get(t) || 0;
    const run = before.filter((r) => done(r) > 0);
    if (run.length)
      return Math.min(...run.map((r) => r.missed)) +
        Math.max(...run.map((r) => done(r) - r.missed));
    return began.length ? Math.max(...began.map(done))
      : before.some((r) => r.done.has(t)) ? 0 : null;
  }

  /* Goes through the steps of a cluster: sets its `t` and `v`, rounds of each
   * step, and `total`; and `missed`, and `lacks`, those since its last, of its
   * replicas. */
  function follow(c, times) {
    c.t = times;
    c.v = times.map((t) => {
      const before = c.replicas.filter((r) => r.from !== null && r.from < t);
      const v = advance(t, before, c.replicas.filter((r) => r.from === t));
      for (const r of before) {
        r.missed += v - (r.done.get(t) || 0);
        r.lacks += r.executed === null || t > r.executed ? v : 0;
      }
      return v;
    });
    c.total = c.v.reduce((sum, v) => sum + v, 0);
  }

  /* Was it there for all of step i?  It was in those beside it. */
  const isWhole = (r, c, i) => r.done.has(c.t[i - 1]) && r.done.has(c.t[i]) &&
    (i + 1 === c.t.length || r.done.has(c.t[i + 1]));

  /* Does it execute less than its cluster now?  One round more or less is the
   * end of a step. */
  function isBehind(r, c, rounds) {
    let own = 0, all = 0;
    c.t.forEach((t, i) => {
      if (isNow(t, rounds) && c.v[i] > 0 && isWhole(r, c, i)) {
        own += r.done.get(t);
        all += c.v[i];
      }
    });
    return all - own > 1 && own < BEHIND * all;
  }

  /*
   * [{service, name, known, replicas, t, v, total}].  Where several of a
   * service propose at once their files tell clusters apart, which are not
   * known where several of one file do.
   */
  function clusters(list, rounds) {
    const mixed = several(rounds, (l) => l.service || '');
    const vague = several(rounds, (l) => groupOf(l.service || '',
      l.cluster || ''));
    const map = new Map();
    for (const r of list) {
      const apart = mixed.has(r.service), name = apart ? r.cluster : '';
      const key = groupOf(r.service, name);
      if (!map.has(key))
        map.set(key, { service: r.service, name, known: !apart ||
          !vague.has(key), replicas: [] });
      map.get(key).replicas.push(r);
    }
    const times = [...new Set(rounds.series.flatMap((s) => s.points
      .map(([t]) => t)))].sort((a, b) => a - b);
    for (const c of map.values())
      follow(c, times);
    return [...map.values()];
  }

  /* `over`: since it has been so for longer than that many seconds. */
  function verdict(r, c, rounds) {
    const { step, until } = rounds, over = until - r.first;
    const since = (level, t) => ({ level, since: ends(t, step),
      over: t === null ? over : null, missed: c.known ? r.lacks : null });
    if (past(r.seen, rounds, SILENT_S))
      return since('gone', r.seen);
    if (past(r.heard, rounds, SILENT_S))
      return since('silent', r.heard);
    if (past(r.executed, rounds, STUCK_S) && r.states.execute !== undefined)
      return since('stuck', r.executed);
    const level = !c.known ? 'ok' : isBehind(r, c, rounds) ? 'behind'
      : r.missed > MISSED * c.total ? 'missed' : 'ok';
    return { level, since: null, over: null, missed: c.known ? r.missed
      : null };
  }

  const isOver = (t, { step, until }) => t + step <= until;

  /* Rounds a second that it executed lately, in steps that are over; null: it
   * was not there. */
  function rateOf(r, c, rounds) {
    const own = c.t.filter((t, i) => isNow(t, rounds, RATE_S) &&
      isOver(t, rounds) && isWhole(r, c, i)).map((t) => r.done.get(t));
    return own.length ? own.reduce((a, b) => a + b) /
      (own.length * rounds.step) : null;
  }

  function said(c, rounds) {
    for (const r of c.replicas) {
      r.verdict = verdict(r, c, rounds);
      r.rate = rateOf(r, c, rounds);
      r.missed = c.known && r.from !== null ? r.missed : null;
    }
  }

  /*
   * `rounds`: pbft_rounds_total with fn=increase, of SPAN_S; `phases`:
   * percentiles of pbft_phase_seconds in one step; `lost`:
   * memlens_pbft_lost_total in one.  {list: [{service, instance, states,
   * phases, asked, missed, lost, heard, seen, rate, verdict}], clusters}, by name;
   * missed is null where nobody knows of which cluster it is.
   */
  function all(rounds, phases, lost) {
    const map = new Map();
    for (const s of rounds.series)
      addState(replicaOf(map, s.labels), s, rounds);
    for (const s of phases.series)
      addPhase(replicaOf(map, s.labels), s, phases.columns);
    for (const s of lost.series)
      if (s.labels.service)
        replicaOf(map, s.labels).lost += sumOf(s.points) || 0;
    const list = [...map.values()].sort(byName);
    const apart = clusters(list, rounds);
    for (const c of apart)
      said(c, rounds);
    return { list, clusters: apart };
  }

  const replicas = (...answers) => all(...answers).list;

  /* Rounds a second of a cluster, step by step: {t, v}, a column.  What is not
   * over is not known. */
  const rate = (c, rounds) => ({ t: c.t, v: c.v.map((v, i) => (v === null ||
    !isOver(c.t[i], rounds) ? null : v / rounds.step)) });

  const nameOf = (r) => r.service + (r.instance ? ' ' + r.instance : '');
  const perSecond = (v) => ns.format.perSecond(v)
    .replace('/s', ' rounds a second');

  /* A sentence for each cluster, and one of all where there are several. */
  function headlines(all, rounds) {
    const now = all.clusters.map((c) => ns.series.last(rate(c, rounds)));
    const known = now.filter((v) => v !== null);
    const lines = all.clusters.map((c, i) => {
      const who = c.replicas.filter((r) => r.asked > 0).map(nameOf);
      return (all.clusters.length > 1 ? c.service + (c.name ? ' cluster ' +
        c.name : '') + ': ' : '') + perSecond(now[i]) +
        (c.known ? '; ' : ' of the busiest of several clusters; ') +
        (who.length ? ns.format.few(who, ', ') + (who.length > 1 ? ' propose'
          : ' proposes') : 'nobody proposes') + '.';
    });
    return lines.length < 2 ? lines : [perSecond(known.length
      ? known.reduce((a, b) => a + b) : null) + ' in ' + lines.length +
      ' clusters.', ...lines];
  }

  /* What is said of a replica, at a time of which `clock` makes words. */
  const at = (v, clock) => (v.since !== null ? ' since ' + clock(v.since)
    : v.over !== null ? ' for more than ' + (v.over < 60
      ? Math.floor(v.over) + ' s' : Math.floor(v.over / 60) + ' min') : '');
  const without = ({ missed }) => (missed > 0 ? ', ' +
    ns.format.count(missed) + (missed === 1 ? ' round' : ' rounds') +
    ' without it' : '');
  const WORDS = {
    ok: () => 'executes',
    missed: (v) => 'executes, missed ' + ns.format.count(v.missed) +
      ' in the last hour',
    behind: () => 'behind',
    stuck: (v, clock) => 'agrees, but executes nothing' + at(v, clock) +
      without(v),
    silent: (v, clock) => 'silent' + at(v, clock) + without(v),
    gone: (v, clock) => 'not seen' + at(v, clock) + without(v)
  };
  const words = (v, clock) => WORDS[v.level](v, clock);

  /* For people. */
  const MEANS = 'Missed is what its cluster executed in the last hour and it ' +
    'did not, counted since it was first seen in that hour, over restarts; ' +
    'what it executes beyond the foremost is caught up. It is said beside ' +
    'what it does where it is over 5 % of them. It is behind while ' +
    'it executes less than 90 % of the rounds of the last two minutes in ' +
    'which it is there.';

  ns.pbftRounds = { STATES, PHASES, SPAN_S, MEANS, byName, all, replicas, rate,
    nameOf, headlines, words };
})(globalThis.MemLens = globalThis.MemLens || {});
