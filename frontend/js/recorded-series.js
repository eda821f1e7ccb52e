/*
 * The series of a recording: a value a slot, cut and gathered as
 * api/v1/series does.  Pure.
 *
 *   {from, step, state, series: [{name, labels, unit, fn, state, v: […]}]}
 */
(function (ns) {
  'use strict';

  /* How the slots of a step become one value; the API's own words. */
  const GATHER = {
    mean: (list) => list.reduce((a, b) => a + b, 0) / list.length,
    increase: (list) => list.reduce((a, b) => a + b, 0),
    last: (list) => list[list.length - 1],
    min: (list) => Math.min(...list),
    max: (list) => Math.max(...list)
  };
  GATHER.rate = GATHER.mean; /* of slots that are equally long */

  /* From an answer whose step is a slot. */
  function pack(answer) {
    const { from, until, step } = answer;
    return Object.assign({}, answer, { until: undefined, series:
      answer.series.map(({ points, ...s }) => {
        const v = new Array(Math.ceil((until - from) / step)).fill(null);
        for (const [t, x] of points)
          v[Math.round((t - from) / step)] = x;
        return Object.assign(s, { v });
      }) });
  }

  /* The answer to from, until and step; edges go down and steps up to whole
   * slots, a point is stamped with the start of its step. */
  function answer(r, { from, until, step, fn }) {
    const slot = r.step;
    const a = Math.max(0, Math.floor((from - r.from) / slot));
    const b = Math.floor((until - r.from) / slot);
    const wide = Math.max(1, Math.ceil((step || slot) / slot));
    const series = r.series.map(({ v, ...s }) => {
      const gather = GATHER[s.fn || fn] || GATHER.mean, points = [];
      for (let k = a; k < Math.min(b, v.length); k += wide) {
        const known = v.slice(k, Math.min(b, k + wide))
          .filter((x) => x !== null && x !== undefined);
        points.push([r.from + k * slot, known.length ? gather(known)
          : null]);
      }
      return Object.assign(s, { points });
    });
    return Object.assign({}, r, { from: r.from + a * slot,
      until: r.from + Math.max(a, b) * slot, step: wide * slot, series });
  }

  ns.recordedSeries = { pack, answer };
})(globalThis.MemLens = globalThis.MemLens || {});
