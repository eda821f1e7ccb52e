/*
 * Where each frame of a call tree goes on a canvas.  Pure: ticks in, pixels
 * out, nothing drawn.  What is too narrow to see is gathered into muted
 * blocks, and counted: nothing disappears without a word.
 */
(function (ns) {
  'use strict';

  const NARROW_PX = 2;

  /* The part of the tree that is shown: all of it, or below frame zoom. */
  function window_(f, zoom) {
    if (f.n === 0)
      return { x0: 0, x1: 1, level: 0 };
    const i = zoom > 0 && zoom < f.n ? zoom : 0;
    return { x0: f.x[i], x1: f.x[i] + f.total[i], level: f.level[i] };
  }

  /* First frame of [from, to) that ends right of x. */
  function firstRight(f, from, to, x) {
    let lo = from, hi = to;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (f.x[mid] + f.total[mid] <= x)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }

  /*
   * One row: [{i, left, width, above}] and blocks {i: -1, count, left,
   * width} of neighbours below NARROW_PX.
   */
  function layRow(f, level, win, width) {
    const scale = width / Math.max(win.x1 - win.x0, 1e-9);
    const out = [];
    const to = f.row[level + 1];
    let block = null;
    for (let i = firstRight(f, f.row[level], to, win.x0);
      i < to && f.x[i] < win.x1; i++) {
      const left = Math.max(0, (f.x[i] - win.x0) * scale);
      const right = Math.min(width, (f.x[i] + f.total[i] - win.x0) * scale);
      if (right - left >= NARROW_PX) {
        out.push({ i, left, width: right - left, above: level < win.level });
        block = null;
      } else if (block && left - (block.left + block.width) < 1) {
        block.count++;
        block.width = right - block.left;
      } else {
        block = { i: -1, count: 1, left, width: right - left };
        out.push(block);
      }
    }
    return out;
  }

  /* {rows, hidden, depth}: depth is that of the rows that hold anything. */
  function lay(f, zoom, width) {
    const win = window_(f, zoom);
    const rows = [];
    let hidden = 0;
    for (let l = 0; l < f.depth; l++) {
      const row = layRow(f, l, win, width);
      if (row.length === 0)
        break;
      for (const r of row)
        hidden += r.i < 0 ? r.count : 0;
      rows.push(row);
    }
    return { rows, hidden, depth: rows.length, win };
  }

  /* The frame under a pixel, however narrow it is; -1 when none. */
  function hit(f, zoom, width, px, level) {
    const win = window_(f, zoom);
    const tick = win.x0 + px / width * (win.x1 - win.x0);
    return ns.flameTree.at(f, level, tick);
  }

  /* The neighbour of frame i for an arrow key, of those that are shown below
   * frame zoom and above it; i itself at the border. */
  function step(f, i, key, zoom = 0) {
    const l = f.level[i], { x0, x1 } = window_(f, zoom);
    const isShown = (k) => f.x[k] < x1 && f.x[k] + f.total[k] > x0;
    if (key === 'up')
      return f.parent[i] >= 0 ? f.parent[i] : i;
    if (key === 'down')
      return ns.flameTree.children(f, i).filter(isShown).reduce((a, b) =>
        (a === i || f.total[b] > f.total[a] ? b : a), i);
    const k = i + (key === 'left' ? -1 : 1);
    return k >= f.row[l] && k < f.row[l + 1] && isShown(k) ? k : i;
  }

  ns.flameLayout = { NARROW_PX, lay, hit, step, window: window_ };
})(globalThis.MemLens = globalThis.MemLens || {});
