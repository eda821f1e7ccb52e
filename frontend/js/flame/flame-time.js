/*
 * How one function moves: its self and total over the range, of what adds up
 * over time so much a second: of CPU time, parts of one CPU.
 */
(function (ns) {
  'use strict';

  /* The answer of table.json as two columns, as the unit shows them. */
  function columns(answer, unit) {
    const over = answer.over_time;
    const col = (k) => ({ labels: {}, unit: '',
      t: over.points.map((p) => p[0]),
      v: over.points.map((p) => (p[k] === null ? null
        : unit.value(p[k], over.step))) });
    return [col(2), col(1)];
  }

  function create() {
    const chart = ns.card.chart({ title: 'Over time', height: 130,
      format: (v) => chart.format(v), least: 0.001,
      onSelect: (range) => ns.view.select(range),
      series: [{ label: 'total', colour: '--series-1', fill: true },
        { label: 'self', colour: '--series-2' }] });
    chart.format = ns.format.compact;
    chart.node.classList.add('fn-time');
    let asked = '', running = null;

    async function load(ctx, name, unit) {
      const params = Object.assign({}, ctx.params, { function: name,
        limit: 0, 'max-nodes': undefined, reverse: undefined });
      const key = ns.request.path('table.json', params);
      if (key === asked)
        return;
      asked = key;
      if (running)
        running.abort();
      running = new AbortController();
      chart.format = unit.show;
      try {
        const answer = await ns.api.get('table.json', params,
          { signal: running.signal });
        chart.show(ctx.range, columns(answer, unit), []);
      } catch (e) {
        if (e.name !== 'AbortError')
          chart.show(ctx.range, [null, null], [{ error: e, state: '' }]);
      }
    }

    function show(ctx, name, unit) {
      chart.node.hidden = !name || !ctx;
      if (!chart.node.hidden)
        load(ctx, name, unit);
    }
    return { node: chart.node, show };
  }

  ns.flameTime = { create, columns };
})(globalThis.MemLens = globalThis.MemLens || {});
