/*
 * Where the threads of a service spend their time: an area for each state, as
 * a mean number of threads, stacked.  What api/v1/threads answers.
 */
(function (ns) {
  'use strict';

  const F = ns.format;
  /* As they lie on each other: what waits for work at the top, what burns
   * CPU at the bottom; how each is called in the legend. */
  const STATES = [['poll', 'poll'], ['timer', 'timer'], ['other', 'other'],
    ['pipe', 'pipe'], ['network', 'network'], ['disk', 'disk'],
    ['fault', 'page fault'], ['condition', 'condition'], ['lock', 'lock'],
    ['run queue', 'run queue'], ['on cpu', 'on CPU']];
  /* now: the state of the source, or '' where it is not enabled. */
  const off = (now) => 'Thread states are not recorded in this range' + (now
    ? '. Off-CPU time is ' + now + ' now; threads of the kernel are not counted.'
    : ': enabled = yes under [offcpu] in memlens.conf starts it.');

  /* {times, rows: a row for each of STATES} over all pools: null where no
   * pool has data, 0 is a state that others had.  Pure. */
  function rows({ pools }) {
    const at = new Map();
    for (const pool of pools)
      for (const { state, points } of pool.states) {
        const k = STATES.findIndex(([name]) => name === state);
        for (const [t, v] of points) {
          if (!at.has(t))
            at.set(t, STATES.map(() => null));
          if (v !== null)
            at.get(t)[k < 0 ? 2 : k] += v;
        }
      }
    const times = [...at.keys()].sort((a, b) => a - b);
    return { times, rows: STATES.map((_, k) => times.map((t) =>
      at.get(t)[k])) };
  }

  function create() {
    const card = ns.card.chart({ title: 'Thread states', height: 240,
      sync: 'cpu', format: F.compact, least: 0.1, stacked: true,
      onSelect: (range) => ns.view.select(range),
      series: STATES.map(([name, label]) => ({ label, optional: true,
        colour: '--state-' + name.replace(' ', '-') })),
      info: ['How many threads were in each state, as a mean over each ' +
        'step: thread-seconds a second. The states add up to the threads ' +
        'that lived.', 'On CPU, ready to run and waiting for one (run ' +
        'queue), or waiting for what the name says. A state can be hidden ' +
        'by its name.'] });
    const hint = ns.dom.h('p', { class: 'hint', hidden: true });
    card.node.hidden = true;

    async function refresh(ctx) {
      const { from, until } = ctx.range.from < ctx.range.until
        ? ns.time.outward(ctx.range, ctx.range.slot) : ctx.range;
      let answer = { pools: [] };
      let text = off(ns.health.enabled(ns.mode.health, 'offcpu'));
      try {
        answer = await ns.api.get('threads', { query: ns.request.selector(
          'thread_seconds_total', ctx.service ? { service: ctx.service }
            : {}), from, until, step: ctx.step }, { signal: ctx.signal });
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        text = 'Thread states: ' + e.message;
      }
      const { times, rows: list } = rows(answer);
      card.node.hidden = times.length === 0;
      hint.hidden = times.length > 0 || ns.mode.current === 'offline';
      ns.dom.say(hint, text);
      if (times.length > 0) {
        card.chart.set(ctx.range, times, list);
        card.chart.message('');
      }
    }
    return { node: card.node, hint, refresh };
  }

  ns.threads = { create, rows, STATES };
})(globalThis.MemLens = globalThis.MemLens || {});
