/*
 * The little line in a card: the shape of a value over the range, with its
 * gaps.  Decoration beside a number, so hidden from screen readers.
 */
(function (ns) {
  'use strict';

  const W = 200, H = 36;

  /* Path data of a column scaled into W by H; pure. */
  function path(col, floor) {
    const e = col && ns.series.extent(col);
    if (!e)
      return '';
    const low = floor === undefined ? e.min : Math.min(floor, e.min);
    const span = e.max - low;
    const n = Math.max(1, col.v.length - 1);
    let pen = false;
    return col.v.map((v, i) => {
      if (v === null) {
        pen = false;
        return '';
      }
      const x = (i / n * W).toFixed(1);
      /* A constant is a line through the middle, not along an edge. */
      const y = (span === 0 ? (e.max === 0 ? H - 2 : H / 2)
        : H - 2 - (v - low) / span * (H - 4)).toFixed(1);
      const cmd = (pen ? 'L' : 'M') + x + ' ' + y;
      pen = true;
      return cmd;
    }).join('');
  }

  function create() {
    const line = ns.dom.svg('path', { class: 'spark-line' });
    const node = ns.dom.svg('svg', { class: 'spark', 'aria-hidden': 'true',
      viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none' }, line);
    return { node, set: (col, floor) =>
      line.setAttribute('d', path(col, floor)) };
  }

  ns.spark = { create, path };
})(globalThis.MemLens = globalThis.MemLens || {});
