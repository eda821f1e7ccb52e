/*
 * How instances of services are at a moment: out of what was stored in the hour
 * before it, in short steps, and of what marks say of their programs: whether
 * an end is trouble, and in which words, the server says.  Pure.  No data stays
 * null, and never is 0.
 */
(function (ns) {
  'use strict';

  const S = ns.series;
  const LATE_S = 30, LATE_STEPS = 2.5;
  const SPAN_S = ns.pbftRounds.SPAN_S, STEP_S = 10;
  const MARKS = 'began,listens,ended,stopped', MARKS_S = 86400;
  const FINE_MAX = 8; /* steps that are asked for slot by slot */
  const MEMORY =
    'memlens_instance_memory_bytes{memtype="resident"}';

  /* Instances are of services that rules name. */
  const QUERIES = [
    { key: 'alive', query: MEMORY },
    { key: 'rounds', query: 'pbft_rounds_total', fn: 'increase' }
  ];

  /* What is asked for of the moment `until`.  Steps begin at multiples of their
   * length: what is said of a time does not depend on when that is. */
  function range(until, slot) {
    const step = ns.time.onGrid(Math.max(STEP_S, slot), slot, Math.ceil);
    return { from: ns.time.onGrid(until - SPAN_S, step, Math.floor), until,
      step };
  }

  const keyOf = (service, instance) => JSON.stringify([service,
    instance || '']);
  const latest = (a, b) => (a === null ? b : b === null ? a : Math.max(a, b));
  const none = { series: [], columns: [] };

  /* A column of series as the replicas of pbft-rounds.js are made of. */
  const answerOf = ({ cols, step }, until) => ({ step, until,
    series: cols.map((c) => ({ labels: c.labels,
      points: c.t.map((t, i) => [t, c.v[i]]) })) });

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

  /* The mark that is the last of an instance, by its port or number, or of a
   * service's programs, or null. */
  function lastWord(marks, service, instance) {
    const of = marks.filter((m) => m.service === service &&
      MARKS.split(',').includes(m.what) && (!/^[:#]/.test(instance) ||
        (m.text + ' ').includes(' ' + instance + ' ')));
    return of[of.length - 1] || null;
  }

  /* The end that is the last word of an instance, or null. */
  function endOf(row, { marks }) {
    const word = lastWord(marks, row.service, row.instance);
    return word && word.end ? word : null;
  }

  /* Has nothing come after its end?  What has come back says so by a mark only
   * when it has lived for a while.  Memory is of who lives, and so are rounds;
   * no rounds are nobody's. */
  function isEnded(row, of) {
    const end = /^[:#]/.test(row.instance) ? endOf(row, of) : null;
    return end !== null && (row.lived === null ||
      row.lived - end.time <= of.step);
  }

  /* One that does not run; `over`: it was last seen before the time that was
   * looked at. */
  function gone(row, of) {
    const end = endOf(row, of);
    return { level: end && !end.trouble ? 'stopped' : 'gone',
      since: end ? end.time : exact(row, 'gone', row.seen, of),
      over: end || row.seen !== null ? null : of.over,
      missed: row.replica ? row.replica.verdict.missed : null,
      end: end ? end.end : '' };
  }

  /* When it was last so, of what was asked for slot by slot. */
  const WAS = {
    silent: (v) => v > 0,
    stuck: (v, { state }) => v > 0 && state === 'execute',
    gone: (v) => v !== null
  };

  /* The end of the last slot in which it was so, out of the step that ends at
   * `since`. */
  function exact(row, level, since, { fine, step }) {
    const was = WAS[level];
    let last = null;
    for (const { alive, rounds } of was && since !== null ? fine : [])
      for (const answer of level === 'gone' ? [alive, rounds] : [rounds])
        for (const { t, v, labels } of answer.cols)
          if (keyOf(labels.service, labels.instance) === keyOf(row.service,
            row.instance))
            t.forEach((at, i) => {
              if (at >= since - step && at < since && was(v[i], labels))
                last = latest(last, at + answer.step);
            });
    return last === null ? since : last;
  }

  /* {level: ok, missed, behind, silent, stuck, gone, stopped or runs, since,
   * over, missed, end: in words, where marks have one}. */
  function stateOf(row, of) {
    if (row.seen === null || of.until - row.seen > Math.max(LATE_S,
      LATE_STEPS * of.step) || isEnded(row, of))
      return gone(row, of);
    if (row.replica && row.replica.verdict.level !== 'gone') {
      const { level, since } = row.replica.verdict;
      return Object.assign({}, row.replica.verdict, { end: '',
        since: exact(row, level, since, of) });
    }
    return { level: 'runs', since: null, over: null, missed: null, end: '' };
  }

  function rowOf(key, of) {
    const [service, instance] = JSON.parse(key);
    const replica = of.replicas.get(key) || null;
    const stepEnd = (t) => (t === null ? null : t + of.step);
    const measured = seen(of.alive.get(key), of.step);
    const row = { service, instance, replica,
      seen: latest(measured, replica && stepEnd(replica.seen)),
      lived: latest(measured, replica && stepEnd(replica.heard)),
      missed: replica ? replica.missed : null };
    row.state = stateOf(row, of);
    row.rate = replica && !isOver(row.state) ? replica.rate : null;
    return row;
  }

  /* It does not run; it runs, and all is well; neither, or not as somebody
   * wanted it. */
  const isOver = (state) => /^(gone|stopped)$/.test(state.level);
  const isWell = (state) => /^(ok|runs)$/.test(state.level);
  const isTrouble = (state) => !isWell(state) && state.level !== 'stopped';

  /* A number that a program had until it listened is no instance that died:
   * no mark says that it has ended. */
  const isPassing = (row) => row.state.level === 'gone' &&
    row.instance[0] === '#' && !row.state.end;

  /*
   * alive, rounds: answers of QUERIES over range(until); marks: as of
   * api/v1/marks, MARKS of MARKS_S and more; phases, lost: answers as
   * pbft-rounds.js takes them; fine: answers of QUERIES over ranges of
   * unclear().  {keys, one: (key) => {service, instance, seen, replica, missed,
   * rate, state}, clusters}: of any instance, also of one that is none of
   * `keys`; rate: rounds a second, lately.
   */
  function at({ alive, rounds, phases = none, lost = none, fine = [] }, marks,
    until, over = SPAN_S) {
    const all = ns.pbftRounds.all(answerOf(rounds, until), phases, lost);
    const of = { alive: added(alive.cols), marks, until, step: alive.step, over,
      fine,
      replicas: new Map(all.list.map((r) => [keyOf(r.service, r.instance),
        r])) };
    return { clusters: all.clusters, one: (key) => rowOf(key, of),
      keys: [...new Set([...of.alive.keys(), ...of.replicas.keys()])] };
  }

  /* Where slots are shorter than steps: the ranges of the steps, the latest, in
   * which something was last seen that is not any more. */
  function unclear(near, marks, until, slot) {
    const { step } = near.alive;
    if (!(slot < step))
      return [];
    const now = at(near, marks, until);
    const ends = now.keys.map((key) => now.one(key).state).filter((s) =>
      WAS[s.level] && !s.end && s.since !== null).map((s) => s.since);
    return [...new Set(ends)].sort((a, b) => b - a).slice(0, FINE_MAX)
      .map((end) => ({ from: end - step, until: end, step: slot }));
  }

  /* Of a state, where `clock` makes words of a time. */
  function words(state, clock) {
    if (state.level === 'runs')
      return 'runs';
    return state.end ? state.end + ' at ' + clock(state.since)
      : ns.pbftRounds.words(state, clock);
  }

  ns.instances = { QUERIES, MARKS, MARKS_S, range, unclear, keyOf, added,
    isPassing, isOver, isWell, isTrouble, at, words };
})(globalThis.MemLens = globalThis.MemLens || {});
