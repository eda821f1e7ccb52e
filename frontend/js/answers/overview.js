/*
 * Several services at once: a row for each instance of a service that a rule of
 * the daemon names, and for each other service, out of answers of
 * api/v1/series.  Pure.  No data stays null, and never is 0.
 */
(function (ns) {
  'use strict';

  const S = ns.series;
  const LATE_S = 30, LATE_STEPS = 2.5;
  const MEMORY_ONE =
    'memlens_instance_memory_bytes{memtype="resident"}';
  const MEMORY = 'namedprocess_namegroup_memory_bytes{memtype="resident"}';

  /* Of an instance and of a service without; instances are of rules alone. */
  const QUERIES = [
    { key: 'cpuOne', query: 'memlens_instance_cpu_seconds_total',
      fn: 'rate' },
    { key: 'memoryOne', query: MEMORY_ONE },
    { key: 'rounds', query: 'pbft_rounds_total', fn: 'increase' },
    { key: 'cpu', query: 'namedprocess_namegroup_cpu_seconds_total',
      fn: 'rate' },
    { key: 'memory', query: MEMORY }
  ];

  /* How they are at the end of the range, however long that is: of the time
   * before it, in short steps; and who else is there. */
  const NEAR_S = ns.pbftRounds.SPAN_S, NEAR_STEP_S = 10, HERE_S = 60;
  const NEAR = [
    { key: 'alive', query: MEMORY_ONE },
    { key: 'rounds', query: 'pbft_rounds_total', fn: 'increase' }
  ];
  const HERE = [{ key: 'here', query: MEMORY, step: HERE_S }];

  const keyOf = (service, instance) => JSON.stringify([service,
    instance || '']);

  /* A column of series as the replicas of pbft-rounds.js are made of. */
  const answerOf = ({ cols, step }, until) => ({ step, until,
    series: cols.map((c) => ({ labels: c.labels,
      points: c.t.map((t, i) => [t, c.v[i]]) })) });

  function replicas({ rounds }, until) {
    const none = { series: [], columns: [] };
    return new Map(ns.pbftRounds.replicas(answerOf(rounds, until), none, none)
      .map((r) => [keyOf(r.service, r.instance), r]));
  }

  /* {key: rounds a second, of the steps in which they were counted} */
  function rates({ cols, step }) {
    return new Map(cols.filter((c) => c.labels.state === 'execute').map((c) =>
      [keyOf(c.labels.service, c.labels.instance),
        c.v.some((v) => v !== null) ? S.total(c) /
          (c.v.filter((v) => v !== null).length * step) : null]));
  }

  /* {key: all columns of it, added} */
  function added(cols) {
    const out = new Map();
    for (const c of cols) {
      const { service, groupname, instance } = c.labels;
      const key = keyOf(service || groupname, instance);
      out.set(key, (out.get(key) || []).concat([c]));
    }
    for (const [key, list] of out)
      out.set(key, S.sum(list));
    return out;
  }

  /* When it was last measured: the end of that step; null: never. */
  function seen(col, step) {
    for (let i = col ? col.v.length - 1 : -1; i >= 0; i--)
      if (col.v[i] !== null)
        return col.t[i] + step;
    return null;
  }

  /* What marks last said of an instance by its port or number, or of a
   * service's programs: {time, what, how} or null. */
  function lastWord(marks, service, instance) {
    const of = marks.filter((m) => m.service === service &&
      /^(began|listens|ended|stopped)$/.test(m.what) &&
      (!/^[:#]/.test(instance) ||
        (m.text + ' ').includes(' ' + instance + ' ')));
    const m = of[of.length - 1];
    const [, how] = m ? /\((signal \d+|status \d+)\)$/.exec(m.text) || [] : [];
    return m ? { time: m.time, what: m.what, how: how || '' } : null;
  }

  /* The end that is the last word of an instance, or null. */
  function endOf(row, { marks }) {
    const word = lastWord(marks, row.service, row.instance);
    return word && /^(ended|stopped)$/.test(word.what) ? word : null;
  }

  /* Has nothing come after its end?  What has come back says so by a mark only
   * when it has lived for a while. */
  function isEnded(row, of) {
    const end = /^[:#]/.test(row.instance) ? endOf(row, of) : null;
    return end !== null && row.seen - end.time <= of.step;
  }

  /* One that does not run; `over`: it was last seen before the time that was
   * looked at. */
  function gone(row, of) {
    const end = endOf(row, of);
    return { level: 'gone', since: end ? end.time : row.seen,
      over: end || row.seen !== null ? null : of.over,
      missed: row.replica ? row.replica.verdict.missed : null,
      what: end ? end.what : '', how: end ? end.how : '' };
  }

  /* {level: ok, missed, behind, silent, stuck, gone or runs, since, over,
   * missed, what, how}. */
  function stateOf(row, of) {
    if (row.seen === null || of.until - row.seen > Math.max(LATE_S,
      LATE_STEPS * of.step) || isEnded(row, of))
      return gone(row, of);
    if (row.replica && row.replica.verdict.level !== 'gone')
      return Object.assign({ what: '', how: '' }, row.replica.verdict);
    return { level: 'runs', since: null, over: null, missed: null, what: '',
      how: '' };
  }

  /* A number that a program had until it listened is no instance that died:
   * no mark says that it has ended. */
  const isPassing = (row) => row.state.level === 'gone' &&
    row.instance[0] === '#' && !row.state.what;

  function rowOf(key, of) {
    const [service, instance] = JSON.parse(key);
    const memory = of.memory.get(key) || null, cpu = of.cpu.get(key) || null;
    const replica = of.replicas.get(key) || null;
    const row = { service, instance, cpu, memory, replica,
      cpuNow: S.last(cpu), memoryNow: S.last(memory),
      seen: latest(seen(of.alive.get(key), of.step), replica
        ? replica.seen + of.step : null),
      rate: of.rates.has(key) ? of.rates.get(key) : null,
      missed: replica ? replica.missed : null };
    row.state = stateOf(row, of);
    return row;
  }

  const latest = (a, b) => (a === null ? b : b === null ? a : Math.max(a, b));

  const byName = (a, b) => a.service.localeCompare(b.service) ||
    a.instance.localeCompare(b.instance, 'en', { numeric: true });

  /*
   * r: answers of QUERIES by key, near: those of NEAR and HERE; marks as of
   * api/v1/marks, of a day or more; until: of what is stored.  {ruled, others}:
   * instances of services that a rule names by name, and replicas, and other
   * services by CPU; a row is {service, instance, cpu, memory: columns, cpuNow,
   * memoryNow, rate, missed, seen, state}.  States and lags are those at
   * `until`, however long the range is.
   */
  function rows(r, near, marks, until) {
    const of = { cpu: added(r.cpuOne.cols), memory: added(r.memoryOne.cols),
      alive: added(near.alive.cols), replicas: replicas(near, until),
      rates: rates(r.rounds), marks, until, step: near.alive.step,
      over: NEAR_S };
    const ruled = [...new Set([...of.memory.keys(), ...of.alive.keys(),
      ...of.replicas.keys()])].map((key) => rowOf(key, of))
      .filter((row) => !isPassing(row)).sort(byName);
    const known = new Set([...of.memory.keys(), ...of.alive.keys()]
      .map((key) => JSON.parse(key)[0]));
    const wide = Object.assign({}, of, { cpu: added(r.cpu.cols),
      memory: added(r.memory.cols), alive: added(near.here.cols),
      step: near.here.step, over: null });
    const others = [...new Set([...wide.memory.keys(), ...wide.alive.keys()])]
      .filter((key) => !known.has(JSON.parse(key)[0]))
      .map((key) => rowOf(key, wide))
      .sort((a, b) => (b.cpuNow || 0) - (a.cpuNow || 0) || byName(a, b));
    return { ruled, others };
  }

  /*
   * What a fault has changed, of a kept run: by replica, from answers over the
   * ranges before and after it: {increase, phases} each, as one step.
   * [{service, instance, rate: [before, after], p99: {phase: [before, after]},
   * silent}], silent: it had rounds before and none after.
   */
  function fault(sides) {
    const list = sides.map(({ rounds, phases }) => {
      const none = { series: [], columns: [] };
      return ns.pbftRounds.replicas(rounds, phases, none);
    });
    const keys = [...new Map(list.flat().map((x) => [keyOf(x.service,
      x.instance), x])).values()].sort(byName);
    return keys.map(({ service, instance }) => {
      const pair = list.map((side) => side.find((x) => x.service === service &&
        x.instance === instance) || null);
      const rate = pair.map((x, i) => (x && x.states.execute !== null &&
        x.states.execute !== undefined ? x.states.execute / sides[i].seconds
        : null));
      const p99 = Object.fromEntries(ns.pbftRounds.PHASES.map((phase) =>
        [phase, pair.map((x) => (x && x.phases[phase]
          ? x.phases[phase].p99 : null))]));
      return { service, instance, rate, p99,
        silent: rate[0] > 0 && !(rate[1] > 0) };
    });
  }

  ns.overview = { QUERIES, NEAR, HERE, NEAR_S, NEAR_STEP_S, HERE_S, rows, fault,
    lastWord };
})(globalThis.MemLens = globalThis.MemLens || {});
