/*
 * Several services at once: a row for each instance of a service that a rule of
 * the daemon names, and for each other service, out of answers of
 * api/v1/series.  Pure.  No data stays null, and never is 0.
 */
(function (ns) {
  'use strict';

  const S = ns.series;
  const LATE_STEPS = 2.5;

  /* Of an instance and of a service without; instances are of rules alone. */
  const QUERIES = [
    { key: 'cpuOne', query: 'memlens_instance_cpu_seconds_total',
      fn: 'rate' },
    { key: 'memoryOne', query:
      'memlens_instance_memory_bytes{memtype="resident"}' },
    { key: 'rounds', query: 'pbft_rounds_total', fn: 'increase' },
    { key: 'cpu', query: 'namedprocess_namegroup_cpu_seconds_total',
      fn: 'rate' },
    { key: 'memory', query:
      'namedprocess_namegroup_memory_bytes{memtype="resident"}' }
  ];

  const keyOf = (service, instance) => JSON.stringify([service,
    instance || '']);

  /* A column of series as the replicas of pbft-rounds.js are made of. */
  const answerOf = ({ cols, step }, until) => ({ step, until,
    series: cols.map((c) => ({ labels: c.labels,
      points: c.t.map((t, i) => [t, c.v[i]]) })) });

  function replicas(rounds, until) {
    const none = { series: [], columns: [] };
    return new Map(ns.pbftRounds.replicas(answerOf(rounds, until), none, none)
      .map((r) => [keyOf(r.service, r.instance), r]));
  }

  /* {key: the seconds in which a replica's rounds were counted} */
  function counted({ cols, step }) {
    return new Map(cols.filter((c) => c.labels.state === 'execute').map((c) =>
      [keyOf(c.labels.service, c.labels.instance),
        c.v.filter((v) => v !== null).length * step]));
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

  /* What marks last said of the programs of a service that listen at a port,
   * or of those without one: {time, what, how} or null. */
  function lastWord(marks, service, instance) {
    const of = marks.filter((m) => m.service === service &&
      /^(began|ended|stopped)$/.test(m.what) &&
      (instance[0] !== ':' || (m.text + ' ').includes(' ' + instance + ' ')));
    const m = of[of.length - 1];
    const [, how] = m ? /\((signal \d+|status \d+)\)$/.exec(m.text) || [] : [];
    return m ? { time: m.time, what: m.what, how: how || '' } : null;
  }

  /* {level: ok, behind, silent, stuck, gone or runs, since, how}. */
  function stateOf(row, marks, { until, step }) {
    const late = row.seen === null ||
      until - row.seen > LATE_STEPS * Math.max(step, 10);
    const word = late ? lastWord(marks, row.service, row.instance) : null;
    if (late)
      return { level: 'gone', since: word && word.what !== 'began'
        ? word.time : row.seen, what: word && word.what !== 'began'
        ? word.what : '', how: word ? word.how : '' };
    if (row.replica && row.replica.verdict.level !== 'gone')
      return Object.assign({ what: '', how: '' }, row.replica.verdict);
    return { level: 'runs', since: null, what: '', how: '' };
  }

  function rowOf(key, of, range) {
    const [service, instance] = JSON.parse(key);
    const memory = of.memory.get(key) || null, cpu = of.cpu.get(key) || null;
    const replica = of.replicas.get(key) || null;
    const executed = replica ? replica.states.execute : null;
    const row = { service, instance, cpu, memory, replica,
      cpuNow: S.last(cpu), memoryNow: S.last(memory),
      seen: seen(memory || cpu, of.step),
      executed: executed === undefined ? null : executed,
      rate: executed > 0 ? executed / of.counted.get(key)
        : executed === 0 ? 0 : null,
      behind: replica ? replica.behind : null };
    row.state = stateOf(row, of.marks, { until: range.until, step: of.step });
    return row;
  }

  const byName = (a, b) => a.service.localeCompare(b.service) ||
    a.instance.localeCompare(b.instance, 'en', { numeric: true });

  /*
   * r: answers of QUERIES by key; marks as of api/v1/marks; range: {from,
   * until}, of which `until` is what is stored.  {ruled, others}: instances of
   * services that a rule names by name, and other services by CPU; a row is
   * {service, instance, cpu, memory: columns, cpuNow, memoryNow, executed, rate,
   * behind, seen, state}.
   */
  function rows(r, marks, range) {
    const of = { cpu: added(r.cpuOne.cols), memory: added(r.memoryOne.cols),
      replicas: replicas(r.rounds, range.until), counted: counted(r.rounds),
      marks,
      step: r.memoryOne.step };
    const ruled = [...new Set([...of.memory.keys(), ...of.replicas.keys()])]
      .map((key) => rowOf(key, of, range)).sort(byName);
    const known = new Set(ruled.map((row) => row.service));
    const wide = Object.assign({}, of, { cpu: added(r.cpu.cols),
      memory: added(r.memory.cols) });
    const others = [...new Set(wide.memory.keys())].filter((key) =>
      !known.has(JSON.parse(key)[0]))
      .map((key) => rowOf(key, wide, range))
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

  ns.overview = { QUERIES, rows, fault, lastWord };
})(globalThis.MemLens = globalThis.MemLens || {});
