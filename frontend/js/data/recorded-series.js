/*
 * The series of a recording: a value a slot, cut and gathered as
 * api/v1/series does.  Pure.
 *
 *   {from, step, state, partial, series: [{name, labels, unit, fn, v: […],
 *    n: […]}]}
 *
 * n has how often a gauge was measured in each slot, so that means of many
 * slots are means of what was measured; absent where all are alike.
 */
(function (ns) {
  'use strict';

  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const mean = (list, n) => sum(list.map((x, k) => x * n[k])) / sum(n);

  /* How the slots of a step become one value; the API's own words. */
  const GATHER = {
    mean,
    increase: sum,
    last: (list) => list[list.length - 1],
    min: (list) => Math.min(...list),
    max: (list) => Math.max(...list),
    rate: (list) => sum(list) / list.length /* slots are equally long */
  };

  const alike = (n) => new Set(n.filter((x) => x !== null)).size < 2;

  /* A value a slot of an answer whose step is one. */
  function slots({ from, until, step }, points) {
    const v = new Array(Math.ceil((until - from) / step)).fill(null);
    for (const [t, x] of points)
      v[Math.round((t - from) / step)] = x;
    return v;
  }

  /* From an answer whose step is a slot; counts: the same with fn=count, of
   * gauges, or null.  What one of them lacks by damage is lacking. */
  function pack(answer, counts) {
    const key = (s) => JSON.stringify([s.name, s.labels]);
    const both = [answer, counts].filter(Boolean);
    const partial = both.flatMap((x) => x.partial || []);
    const of = new Map((counts ? counts.series : []).map((s) =>
      [key(s), slots(counts, s.points)]));
    return Object.assign({}, answer, { until: undefined, partial,
      state: partial.length ? 'partial' : answer.state,
      series: answer.series.map(({ points, ...s }) => {
        const n = of.get(key(s)), v = slots(answer, points);
        return Object.assign(s, counts ? { v: v.map((x, k) =>
          (n && n[k] ? x : null)), n: n && !alike(n) ? n : undefined }
          : { v });
      }) });
  }

  /* What is known of slots [a, b) as one value; null where nothing is. */
  function gather({ v, n }, fn, a, b) {
    const known = [], counts = [];
    for (let k = a; k < Math.min(b, v.length); k++)
      if (v[k] !== null && v[k] !== undefined) {
        known.push(v[k]);
        counts.push(n ? n[k] : 1);
      }
    return known.length ? (GATHER[fn] || mean)(known, counts) : null;
  }

  /* The slots of a range: edges go down. */
  function within(r, from, until) {
    const at = (t) => Math.floor((t - r.from) / r.step);
    const a = Math.max(0, at(from));
    return [a, Math.max(a, at(until))];
  }

  /* The answer to from, until and step; steps go up to whole slots, a point
   * is stamped with the start of its step. */
  function answer(r, { from, until, step, fn }) {
    const [a, b] = within(r, from, until), slot = r.step;
    const wide = Math.max(1, Math.ceil((step || slot) / slot));
    const partial = ns.time.stretches(r.partial || [], { from, until });
    const series = r.series.map((one) => {
      const { v, ...s } = one, points = [];
      delete s.n;
      for (let k = a; k < Math.min(b, v.length); k += wide)
        points.push([r.from + k * slot, gather(one, s.fn || fn, k,
          Math.min(b, k + wide))]);
      return Object.assign(s, { points });
    });
    return Object.assign({}, r, { from: r.from + a * slot,
      until: r.from + b * slot, step: wide * slot, series, partial,
      state: r.state === 'partial' && !partial.length ? undefined
        : r.state });
  }

  /* By what compare.json compares it: what was recorded as an increase as a
   * rate; a mean of quantiles is none. */
  function comparedBy(s) {
    return s.fn === 'increase' ? 'rate'
      : (s.labels || {}).quantile !== undefined ? 'max' : s.fn;
  }

  /* That of a range of whole slots. */
  function over(r, s, { from, until }) {
    const v = gather(s, comparedBy(s), ...within(r, from, until));
    return s.fn === 'increase' && v !== null ? v / r.step : v;
  }

  ns.recordedSeries = { pack, answer, comparedBy, over };
})(globalThis.MemLens = globalThis.MemLens || {});
