/*
 * What the service does for its clients, by the latency histograms that it
 * shows to Prometheus: operations per second, and percentiles from the
 * buckets of each step.  A percentile is never a mean of percentiles.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, S = ns.series;
  const POINTS = 90, LINES = 5;
  const QUANTILES = [['0.5', 'p50'], ['0.9', 'p90'], ['0.99', 'p99'],
    ['0.999', 'p99.9']];

  /* Buckets are many series: few points of each. */
  function queries(service, ctx) {
    return [{ key: 'operations', fn: 'increase',
      step: ctx && ns.time.step(ctx.range.until - ctx.range.from, POINTS,
        ctx.range.slot),
      query: ns.request.selector('', { __name__: /.+_seconds_bucket/,
        service }) }];
  }

  /* The instance is named where there are several. */
  function words(labels, several) {
    return Object.entries(labels)
      .filter(([k]) => k !== 'le' && k !== 'service' &&
        (several || k !== 'instance'))
      .map(([, v]) => v).join(' ') || 'all';
  }

  /*
   * {histogram's name: [{label, le: [border…], cols: [column a border]}]},
   * borders ascending, Infinity last; pure.
   */
  function families(cols) {
    const out = new Map();
    const several = S.by(cols, 'instance').size > 1;
    for (const c of cols) {
      const name = c.name.replace(/_bucket$/, '');
      const label = words(c.labels, several);
      const lines = out.get(name) || new Map();
      const line = lines.get(label) || { label, buckets: [] };
      const le = c.labels.le === '+Inf' ? Infinity : Number(c.labels.le);
      line.buckets.push([le, c]);
      out.set(name, lines.set(label, line));
    }
    return new Map([...out].map(([name, lines]) => [name,
      [...lines.values()].map(({ label, buckets }) => {
        buckets.sort((a, b) => a[0] - b[0]);
        return { label, le: buckets.map((b) => b[0]),
          cols: buckets.map((b) => b[1]) };
      }).filter((l) => l.le[l.le.length - 1] === Infinity)])
      .filter(([, lines]) => lines.length));
  }

  /*
   * The q-quantile of cumulative counts, straight between two borders, the
   * highest border where it lies above; null where nothing was counted.
   */
  function quantile(q, le, counts) {
    const n = counts[counts.length - 1];
    if (!(n > 0))
      return null;
    const k = counts.findIndex((c) => c >= q * n);
    if (le[k] === Infinity)
      return k > 0 ? le[k - 1] : null;
    const low = k > 0 ? le[k - 1] : 0, before = k > 0 ? counts[k - 1] : 0;
    return counts[k] === before ? le[k]
      : low + (le[k] - low) * (q * n - before) / (counts[k] - before);
  }

  function percentile(q, line) {
    const all = line.cols[line.cols.length - 1];
    const rows = line.cols.map((c) => S.align(c, all.t));
    return { labels: {}, unit: 'seconds', t: all.t,
      v: all.v.map((n, i) => (n === null ? null
        : quantile(q, line.le, rows.map((r) => r[i] || 0)))) };
  }

  /*
   * What is known of a percentile v that was read from buckets: that it lies
   * between two borders.  Digits only where they are less than 2 % apart.
   */
  function told(v, le) {
    const k = le.findIndex((b) => v <= b);
    const top = le[le.length - 2];
    if (le[k] === Infinity || v === top)
      return top === undefined ? F.seconds(v) : '≥ ' + F.seconds(top);
    const low = k > 0 ? le[k - 1] : 0;
    return le[k] - low <= 0.02 * le[k] ? F.seconds(v)
      : F.seconds(low) + ' – ' + F.seconds(le[k]);
  }

  const counted = (line) => S.total(line.cols[line.cols.length - 1]) || 0;

  /* What clients wait for before what they cause. */
  function ordered(found) {
    const first = (n) => (/operation|request|command|quer|transact/.test(n)
      ? 0 : 1);
    return [...found.keys()].sort((a, b) => first(a) - first(b) ||
      (a < b ? -1 : 1));
  }

  function charts(lines, onSelect, picker) {
    const series = lines.map(({ label }, k) => ({ label,
      colour: '--series-' + (k + 1) }));
    const make = (spec, more) => ns.card.chart(Object.assign({ onSelect,
      sync: 'memory', height: 170, series: series.map((s) => ({ ...s })) },
    spec), more);
    return [make({ title: 'Operations', format: F.perSecond, least: 1,
      info: 'Operations finished per second, as the service counts them.' }),
    make({ title: 'Latency', format: F.seconds, least: 0.00001,
      tell: (v, k) => told(v, lines[k].le),
      info: ['So large a part of the operations was faster than the line: ' +
        'p99 is what the slowest hundredth exceeds.', 'It comes from the ' +
        'buckets of the service’s own histogram, all of a step together: ' +
        'known are the two borders between which it lies. The line is ' +
        'drawn between them, as if all were spread evenly; above the ' +
        'highest border it is that border. What waits before the service takes it up is not in ' +
        'it.'] }, picker)];
  }

  function create(onSelect) {
    const which = ns.card.picker('Histogram', (ops) => ns.view.set({ ops }));
    const quant = ns.card.picker('Percentile', (q) => ns.view.set({ q }));
    quant.node.classList.add('field-small');
    const hint = h('p', { class: 'hint', hidden: true });
    const grid = h('div', { class: 'chart-grid' });
    const node = h('section', { class: 'section', hidden: true,
      'aria-label': 'Operations' }, ns.card.section('Operations',
      h('span', { class: 'spacer' }), which.node), hint, grid);
    let made = '', cards = [];

    function show(r, ctx) {
      const found = families(r.operations.cols);
      const names = ordered(found);
      const name = found.has(ctx.state.ops) ? ctx.state.ops : names[0];
      node.hidden = !name;
      if (!name)
        return;
      which.set(names.map((n) => [n, n]), name);
      quant.set(QUANTILES, ctx.state.q);
      const all = found.get(name);
      const lines = all.slice().sort((a, b) => counted(b) - counted(a))
        .slice(0, LINES).sort((a, b) => (a.label < b.label ? -1 : 1));
      hint.hidden = all.length <= LINES;
      hint.textContent = all.length - LINES + ' more kinds of operations ' +
        'are rarer and not drawn.';
      const key = JSON.stringify([name, lines.map((l) => [l.label, l.le])]);
      if (key !== made) {
        made = key;
        cards = charts(lines, onSelect, quant.node);
        grid.replaceChildren(...cards.map((c) => c.node));
      }
      cards[0].show(ctx.range, lines.map((l) =>
        S.scale(l.cols[l.cols.length - 1], 1 / r.operations.step)),
      [r.operations]);
      cards[1].show(ctx.range, lines.map((l) =>
        percentile(Number(ctx.state.q), l)), [r.operations]);
    }
    return { node, queries, show };
  }

  ns.operations = { create, queries, families, quantile, percentile, told };
})(globalThis.MemLens = globalThis.MemLens || {});
