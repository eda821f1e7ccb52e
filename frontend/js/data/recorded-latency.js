/*
 * Heat maps and states of threads of a recording: a column, or a value, a slot,
 * cut and gathered as api/v1/heatmap.json and api/v1/threads do.  Counts are
 * exact at any step; percentiles are known of single slots and of all of them
 * together alone, and null elsewhere.  Pure.
 */
(function (ns) {
  'use strict';

  /* {from, until, wide: slots of a step} of whole slots of r. */
  function cut(r, p) {
    const down = (t) => r.from + Math.floor((t - r.from) / r.step) * r.step;
    const clamp = (t) => Math.max(r.from, Math.min(r.until, down(t)));
    const from = clamp(p.from === undefined ? r.from : p.from);
    return { from, until: Math.max(from, clamp(p.until === undefined
      ? r.until : p.until)), wide: Math.max(1, Math.ceil((p.step || r.step) /
      r.step)) };
  }

  const count = (point) => point[point.length - 1];

  function heat(r, p) {
    const { from, until, wide } = cut(r, p), step = wide * r.step;
    const head = { from, until, step, why: '', series: r.series };
    if (!r.cells)
      return head;
    const first = Math.round((from - r.from) / r.step);
    const last = Math.round((until - r.from) / r.step);
    const cells = new Map(), points = [];
    for (const [slot, row, n] of r.cells)
      if (slot >= first && slot < last) {
        const key = Math.floor((slot - first) / wide) * r.edges.length + row;
        cells.set(key, (cells.get(key) || 0) + n);
      }
    for (let k = first; k < last; k += wide) {
      const of = r.points.slice(k, Math.min(k + wide, last));
      const alone = of.length === 1 ? of[0]
        : of.length === r.points.length ? r.whole : null;
      points.push([r.from + k * r.step, ...alone ? alone.slice(1)
        : [...Array(r.columns.length - 2).fill(null),
          of.reduce((n, point) => n + count(point), 0)]]);
    }
    return Object.assign(head, { name: r.name, unit: r.unit, points,
      columns: r.columns, edges: r.edges,
      cells: [...cells].sort((a, b) => a[0] - b[0]).map(([key, n]) =>
        [Math.floor(key / r.edges.length), key % r.edges.length, n]) });
  }

  /* The mean of the slots in which something of the pool is known. */
  function threads(r, p) {
    const { from, until, wide } = cut(r, p);
    const first = Math.round((from - r.from) / r.step);
    const last = Math.round((until - r.from) / r.step);
    const state = ({ points, ...s }) => {
      const out = [];
      for (let k = first; k < last; k += wide) {
        const of = points.slice(k, Math.min(k + wide, last))
          .map(([, v]) => v).filter((v) => v !== null);
        out.push([r.from + k * r.step, of.length
          ? of.reduce((a, b) => a + b, 0) / of.length : null]);
      }
      return Object.assign(s, { points: out });
    };
    return Object.assign({}, r, { from, until, step: wide * r.step,
      pools: r.pools.map((pool) => Object.assign({}, pool,
        { states: pool.states.map(state) })) });
  }

  ns.recordedLatency = { heat, threads };
})(globalThis.MemLens = globalThis.MemLens || {});
