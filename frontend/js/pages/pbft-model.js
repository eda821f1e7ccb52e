/*
 * Practical Byzantine Fault Tolerance as a list of messages.  Pure.  Four
 * replicas bear one fault (n = 3f + 1); lane 0 is the client, lane 1 the
 * primary, lanes 2 to 4 the backups.
 */
(function (ns) {
  'use strict';

  const LANES = ['Client', 'Primary', 'Replica 1', 'Replica 2', 'Replica 3'];
  const REPLICAS = [1, 2, 3, 4];
  const F = 1;
  const FLIGHT_S = 1.5, PAUSE_S = 0.5;

  const PHASES = [
    { name: 'Request', text: 'The client sends its operation to the ' +
      'primary and waits.' },
    { name: 'Pre-prepare', text: 'The primary gives the request a sequence ' +
      'number and proposes it to all backups.' },
    { name: 'Prepare', text: 'Every backup that accepts the proposal tells ' +
      'all others. With 2f prepares that match the proposal, a replica ' +
      'knows that a quorum saw the same order.' },
    { name: 'Commit', text: 'Every prepared replica, the primary too, tells ' +
      'all others. With 2f + 1 commits, its own included, the request is ' +
      'committed and executed.' },
    { name: 'Reply', text: 'Every replica answers the client itself. f + 1 ' +
      'equal replies are enough: at least one of them is honest.' }
  ];

  /* Pairs [from, to] of a phase; `silent` is a lane that says nothing. */
  function pairs(phase, silent) {
    const speaking = (list) => list.filter((lane) => lane !== silent);
    const others = (from) => REPLICAS.filter((to) => to !== from);
    const all = (list) => speaking(list)
      .flatMap((from) => others(from).map((to) => [from, to]));
    return [
      () => [[0, 1]],
      () => speaking([1]).flatMap((from) => others(from)
        .map((to) => [from, to])),
      () => all([2, 3, 4]),
      () => all(REPLICAS),
      () => speaking(REPLICAS).map((from) => [from, 0])
    ][phase]();
  }

  /* [{phase, from, to, start, end}] in seconds, phase after phase. */
  function messages(silent) {
    /* Nobody prepares what a silent primary did not propose. */
    const phases = silent === 1 ? [0] : [0, 1, 2, 3, 4];
    return phases.flatMap((phase) => pairs(phase, silent)
      .map(([from, to]) => {
        const start = phase * (FLIGHT_S + PAUSE_S);
        return { phase, from, to, start, end: start + FLIGHT_S };
      }));
  }

  function duration() {
    return PHASES.length * (FLIGHT_S + PAUSE_S);
  }

  function phaseAt(t) {
    return Math.min(PHASES.length - 1,
      Math.max(0, Math.floor(t / (FLIGHT_S + PAUSE_S))));
  }

  /*
   * How far a replica is at time t: "" before anything, then "proposed",
   * "prepared", "committed"; the client is "waiting", then "done".
   */
  function progress(list, lane, t) {
    const got = (phase) => list.filter((m) => m.phase === phase &&
      m.to === lane && m.end <= t).length;
    const sent = (phase) => list.some((m) => m.phase === phase &&
      m.from === lane && m.start <= t);
    if (lane === 0)
      return got(4) >= F + 1 ? 'done' : sent(0) ? 'waiting' : '';
    const proposed = lane === 1 ? got(0) > 0 : got(1) > 0;
    /* A backup's own prepare counts; the primary's proposal is its own. */
    const prepared = proposed &&
      got(2) + (lane !== 1 && sent(2) ? 1 : 0) >= 2 * F;
    const committed = prepared && got(3) + (sent(3) ? 1 : 0) >= 2 * F + 1;
    return committed ? 'committed' : prepared ? 'prepared'
      : proposed ? 'proposed' : '';
  }

  ns.pbftModel = { LANES, PHASES, FLIGHT_S, PAUSE_S, messages, duration,
    phaseAt, progress };
})(globalThis.MemLens = globalThis.MemLens || {});
