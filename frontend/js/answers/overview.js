/*
 * Several services at once: a row for each instance of a service that a rule of
 * the daemon names, and for each other service, out of answers of
 * api/v1/series.  Pure.  No data stays null, and never is 0.
 */
(function (ns) {
  'use strict';

  const S = ns.series;
  const { keyOf, added } = ns.instances, { byName } = ns.pbftRounds;
  const MEMORY = 'namedprocess_namegroup_memory_bytes{memtype="resident"}';

  /* Of an instance and of a service without; instances are of rules alone. */
  const QUERIES = [
    { key: 'cpuOne', query: 'memlens_instance_cpu_seconds_total',
      fn: 'rate' },
    { key: 'memoryOne',
      query: 'memlens_instance_memory_bytes{memtype="resident"}' },
    { key: 'cpu', query: 'namedprocess_namegroup_cpu_seconds_total',
      fn: 'rate' },
    { key: 'memory', query: MEMORY }
  ];

  /* Who else is there at the end of the range. */
  const HERE_S = 60;
  const HERE = [{ key: 'here', query: MEMORY, step: HERE_S }];

  /* What an instance was over the range, and is at its end. */
  function rowOf(key, now, of) {
    const cpu = of.cpu.get(key) || null, memory = of.memory.get(key) || null;
    const row = now.one(key), gone = ns.instances.isOver(row.state);
    return Object.assign(row, { cpu, memory,
      cpuNow: gone ? null : S.last(cpu),
      memoryNow: gone ? null : S.last(memory) });
  }

  /*
   * r: answers of QUERIES by key; near: those of instances.QUERIES and of HERE;
   * marks as of api/v1/marks, of a day or more; until: of what is stored.
   * {ruled, others}: instances of services that a rule names by name, and
   * replicas, and other services by CPU; a row is that of instances.js with
   * {cpu, memory: columns, cpuNow, memoryNow}.  States, rates and lags are those
   * at `until`, however long the range is.
   */
  function rows(r, near, marks, until) {
    const now = ns.instances.at(near, marks, until);
    const one = { cpu: added(r.cpuOne.cols), memory: added(r.memoryOne.cols) };
    const ruled = [...new Set([...one.memory.keys(), ...now.keys])]
      .map((key) => rowOf(key, now, one))
      .filter((row) => !ns.instances.isPassing(row)).sort(byName);
    const known = new Set([...one.memory.keys(), ...now.keys]
      .map((key) => JSON.parse(key)[0]));
    /* replicas are none of these */
    const here = ns.instances.at({ alive: near.here, rounds: { cols: [],
      step: near.here.step } }, marks, until, null);
    const wide = { cpu: added(r.cpu.cols), memory: added(r.memory.cols) };
    const others = [...new Set([...wide.memory.keys(),
      ...added(near.here.cols).keys()])]
      .filter((key) => !known.has(JSON.parse(key)[0]))
      .map((key) => rowOf(key, here, wide))
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

  ns.overview = { QUERIES, HERE, HERE_S, rows, fault };
})(globalThis.MemLens = globalThis.MemLens || {});
