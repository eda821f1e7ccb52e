/*
 * A heat map: counts over time and value, as api/v1/heatmap.json answers them.
 * Columns are steps, rows are the histogram's bands, which are as wide as
 * their values are large; the darker, the more.  What was not there is the
 * card's own colour: a step without data looks other than one that had none.
 *
 *	keys    arrows walk the cells, Shift with them selects, Enter takes what is
 *	        selected, Escape lets go; what is under the cursor is spoken
 *	mouse   a drag selects steps and bands
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;
  const LEFT = 62, BOTTOM = 20, TOP = 4, HEIGHT = 240, MIN_DRAG = 5;

  /* {cols, rows, at(col, row) → count, most, of: the step's points}.  Pure. */
  function grid(answer) {
    const step = answer.step, from = answer.from;
    const cols = Math.max(0, Math.ceil((answer.until - from) / step));
    const edges = answer.edges || [], rows = Math.max(0, edges.length - 1);
    const counts = new Map();
    let most = 0;
    for (const [col, row, n] of answer.cells || []) {
      counts.set(col * rows + row, n);
      most = Math.max(most, n);
    }
    return { from, step, cols, rows, edges, most,
      until: Math.min(answer.until, from + cols * step),
      points: answer.points || [],
      at: (col, row) => counts.get(col * rows + row) || 0 };
  }

  /* The area between two cells, in either order.  Pure. */
  function area(g, a, b) {
    const [c0, c1] = [Math.min(a.col, b.col), Math.max(a.col, b.col)];
    const [r0, r1] = [Math.min(a.row, b.row), Math.max(a.row, b.row)];
    return { from: g.from + c0 * g.step,
      until: Math.min(g.until, g.from + (c1 + 1) * g.step),
      low: g.edges[r0], high: g.edges[r1 + 1] };
  }

  /* {low, high}: the part of a band whose borders are the map's, beyond which
   * there is nothing; or null.  Pure. */
  function snap({ edges }, band) {
    if (!band)
      return null;
    const low = band.low < edges[0] ? band.low
      : edges.find((e) => e >= band.low);
    const high = band.high > edges[edges.length - 1] ? band.high
      : edges.filter((e) => e <= band.high).pop();
    return low < high ? { low, high } : null;
  }

  /* How many of a band with the map's borders there are, and of all how many.
   * Pure. */
  function inBand(g, { low, high }) {
    let n = 0, all = 0;
    for (let col = 0; col < g.cols; col++)
      for (let row = 0; row < g.rows; row++) {
        const v = g.at(col, row);
        all += v;
        if (g.edges[row] >= low && g.edges[row + 1] <= high)
          n += v;
      }
    return { n, all };
  }

  const INCRS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
    7200, 10800, 21600, 43200, 86400];

  /* {times, incr}: round ones of the local clock, n at most.  Pure. */
  function ticks(from, until, n) {
    const least = (until - from) / n;
    const incr = INCRS.find((i) => i >= least) ||
      Math.ceil(least / 86400) * 86400;
    const zone = -60 * new Date(from * 1000).getTimezoneOffset();
    const times = [];
    for (let t = Math.ceil((from + zone) / incr) * incr - zone; t <= until;
      t += incr)
      times.push(t);
    return { times, incr };
  }

  function token(name) {
    return getComputedStyle(document.documentElement)
      .getPropertyValue(name).trim();
  }

  /* Something is always seen; ten times as many are two steps darker. */
  const shade = (n, most) => (n === 0 ? 0 : most === 1 ? 1
    : 0.2 + 0.8 * Math.log(n) / Math.log(most));

  /* spec: {label, onSelect(area)}. */
  function create(spec) {
    const canvas = h('canvas', { class: 'heat-canvas', tabindex: '0',
      role: 'application', 'aria-roledescription': 'heat map',
      'aria-label': spec.label });
    const spoken = h('p', { class: 'visually-hidden', role: 'status' });
    const tip = h('div', { class: 'tip heat-tip', role: 'tooltip',
      hidden: true });
    const node = h('div', { class: 'heat' }, canvas, tip, spoken);
    let g = grid({ from: 0, until: 0, step: 1 }), band = null;
    let cursor = null, anchor = null, drag = null;
    let format = F.seconds, known = () => true;

    const width = () => canvas.clientWidth || 600;
    const cellW = () => (width() - LEFT) / Math.max(1, g.cols);
    const cellH = () => (HEIGHT - TOP - BOTTOM) / Math.max(1, g.rows);
    const left = (col) => LEFT + col * cellW();
    const top = (row) => HEIGHT - BOTTOM - (row + 1) * cellH();

    function cells(ctx) {
      ctx.fillStyle = token('--series-1');
      for (let col = 0; col < g.cols; col++)
        for (let row = 0; row < g.rows; row++) {
          const n = g.at(col, row);
          if (n === 0)
            continue;
          ctx.globalAlpha = shade(n, g.most);
          ctx.fillRect(left(col), top(row), Math.max(1, cellW() + 0.3),
            Math.max(1, cellH() + 0.3));
        }
      ctx.globalAlpha = 1;
    }

    function gaps(ctx) {
      ctx.fillStyle = token('--chart-gap');
      for (let col = 0; col < g.cols; col++)
        if (!known(col))
          ctx.fillRect(left(col), TOP, cellW() + 0.3,
            HEIGHT - TOP - BOTTOM);
    }

    function labels(ctx) {
      ctx.fillStyle = token('--chart-axis');
      ctx.strokeStyle = token('--chart-grid');
      ctx.font = '11px ' + token('--font-sans');
      ctx.textBaseline = 'middle';
      ctx.textAlign = 'right';
      const every = Math.max(1, Math.ceil(g.rows / 8));
      for (let row = 0; row < g.rows; row += every)
        ctx.fillText(format(g.edges[row]), LEFT - 6,
          Math.max(TOP + 6, top(row) + cellH()));
      ctx.textAlign = 'center';
      const { times, incr } = ticks(g.from, g.until,
        Math.max(1, Math.floor((width() - LEFT) / 90)));
      ns.chart.timeLabels(null, times, 0, 0, incr).forEach((text, i) => {
        const x = left((times[i] - g.from) / g.step);
        if (x + ctx.measureText(text).width / 2 <= width())
          ctx.fillText(text, x, HEIGHT - BOTTOM / 2);
      });
      ctx.strokeRect(LEFT, TOP, width() - LEFT - 1, HEIGHT - TOP - BOTTOM);
    }

    function outline(ctx, a, colour, dash) {
      const x0 = LEFT + (a.from - g.from) / g.step * cellW();
      const x1 = LEFT + (a.until - g.from) / g.step * cellW();
      const low = g.edges.filter((e) => e < a.low).length;
      const high = Math.min(g.rows,
        g.edges.filter((e) => e < a.high).length);
      ctx.strokeStyle = token(colour);
      ctx.lineWidth = 2;
      ctx.setLineDash(dash);
      ctx.strokeRect(x0, top(high - 1), x1 - x0, (high - low) * cellH());
      ctx.setLineDash([]);
      ctx.lineWidth = 1;
    }

    function draw() {
      const dpr = window.devicePixelRatio || 1;
      canvas.width = Math.round(width() * dpr);
      canvas.height = Math.round(HEIGHT * dpr);
      canvas.style.height = HEIGHT + 'px';
      const ctx = canvas.getContext('2d');
      ctx.scale(dpr, dpr);
      gaps(ctx);
      cells(ctx);
      labels(ctx);
      if (band && inBand(g, band).n)
        outline(ctx, { from: g.from, until: g.until, low: band.low,
          high: band.high }, '--accent', [6, 4]);
      if (cursor)
        outline(ctx, area(g, anchor || cursor, cursor), '--text', []);
    }

    /* One cell in words. */
    function words({ col, row }) {
      const a = area(g, { col, row }, { col, row });
      const p = g.points[col];
      return F.range(a.from, a.until) + ', ' + format(a.low) + ' to ' +
        format(a.high) + ': ' + (known(col) ? F.count(g.at(col, row)) +
        ' of ' + F.count(p ? p[p.length - 1] : 0) : 'no data');
    }

    function cellAt(e) {
      const box = canvas.getBoundingClientRect();
      const clamp = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
      if (!g.cols || !g.rows)
        return null;
      return { col: clamp((e.clientX - box.left - LEFT) / cellW(), g.cols),
        row: clamp((HEIGHT - BOTTOM - (e.clientY - box.top)) / cellH(),
          g.rows) };
    }

    function point(e) {
      const cell = cellAt(e);
      if (!cell)
        return;
      if (drag && Math.abs(e.clientX - drag.x) +
        Math.abs(e.clientY - drag.y) >= MIN_DRAG)
        anchor = drag.cell;
      cursor = cell;
      ns.dom.say(tip, words(cell));
      tip.hidden = false;
      tip.style.left = Math.max(8, Math.min(e.clientX + 12,
        innerWidth - tip.offsetWidth - 8)) + 'px';
      tip.style.top = e.clientY + 14 + 'px';
      draw();
    }

    function release() {
      const chosen = anchor && cursor && area(g, anchor, cursor);
      drag = anchor = cursor = null;
      tip.hidden = true;
      draw();
      if (chosen)
        spec.onSelect(chosen);
    }

    function speak() {
      const text = words(cursor);
      ns.dom.say(spoken, anchor ? 'selected from ' + words(anchor) + ' to ' +
        text : text);
      draw();
    }

    const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0],
      ArrowUp: [0, 1], ArrowDown: [0, -1] };
    function key(e) {
      const move = MOVES[e.key];
      if (!g.cols || !g.rows || (!move && !['Enter', 'Escape'].includes(e.key)))
        return;
      if (e.key === 'Escape') {
        if (!cursor)
          return;
        cursor = anchor = null;
        draw();
      } else if (e.key === 'Enter') {
        if (!cursor)
          return;
        anchor = anchor || cursor;
        release();
      } else {
        anchor = e.shiftKey ? anchor || cursor : null;
        cursor = cursor ? { col: Math.max(0, Math.min(g.cols - 1,
          cursor.col + move[0])), row: Math.max(0, Math.min(g.rows - 1,
          cursor.row + move[1])) } : { col: g.cols - 1, row: 0 };
        speak();
      }
      e.preventDefault();
      e.stopPropagation();
    }

    canvas.addEventListener('keydown', key);
    canvas.addEventListener('pointerdown', (e) => {
      drag = { cell: cellAt(e), x: e.clientX, y: e.clientY };
      anchor = null;
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener('pointermove', point);
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointerleave', () => {
      if (drag)
        return;
      cursor = null;
      tip.hidden = true;
      draw();
    });
    new ResizeObserver(draw).observe(node);
    ns.theme.on(draw);

    /* band: {low, high} with borders of the map, or null; known(col): was anything
     * measured in that step; format(value), label: in words. */
    function show(answer, as) {
      g = grid(answer);
      ({ band, known, format } = as);
      cursor = anchor = null;
      canvas.setAttribute('aria-label', as.label);
      draw();
    }
    return { node, show };
  }

  ns.heat = { create, grid, area, snap, inBand, ticks, shade };
})(globalThis.MemLens = globalThis.MemLens || {});
