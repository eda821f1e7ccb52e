/*
 * A line chart over time: uPlot with our colours, a legend of buttons that
 * shows values, a brush (mouse and finger), and keys for those who use
 * neither.  Gaps stay gaps: null is never joined and never drawn as 0.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const MIN_BRUSH_PX = 6, NEAR_PX = 5;

  function token(name) {
    return getComputedStyle(document.documentElement)
      .getPropertyValue(name).trim();
  }

  /* Ticks of bytes fall on powers of two, as their units do. */
  const BINARY = Array.from({ length: 50 }, (_, i) => 2 ** i);
  const inBytes = (format) => /iB/.test(format(2 ** 20));

  function axes(format) {
    const grid = { stroke: token('--chart-grid'), width: 1 };
    const common = { stroke: token('--chart-axis'),
      font: '11px ' + token('--font-sans'), ticks: { show: false }, grid };
    const wide = (u, values) => (values || [])
      .reduce((w, v) => Math.max(w, String(v).length), 0) * 6.6 + 14;
    return [
      Object.assign({}, common, { space: 76, size: 26, gap: 6,
        grid: Object.assign({}, grid, { show: false }),
        values: timeLabels }),
      Object.assign({}, common, { space: 34, size: wide, gap: 6,
        incrs: inBytes(format) ? BINARY : undefined,
        values: (u, ticks) => ticks.map(format) })
    ];
  }

  /* 24-hour clock; the day where it changes. */
  function timeLabels(u, ticks, axis, space, incr) {
    let day = '';
    return ticks.map((t) => {
      const d = ns.format.day(t);
      const label = ns.format.clock(t, incr < 60);
      const turn = day !== '' && d !== day;
      day = d;
      return turn ? d.slice(5) : label;
    });
  }

  /* A value is of a step from its time on: that of the newest step goes on
   * until the step's end, no further than the range. */
  function closed({ span }, [times, ...rows]) {
    const n = times.length, step = n > 1 ? times[1] - times[0] : Infinity;
    const end = n ? Math.min(times[n - 1] + step, span ? span[1] : 0) : 0;
    return n && end > times[n - 1]
      ? [[...times, end], ...rows.map((r) => [...r, r[n - 1]])]
      : [times, ...rows];
  }

  /* What is drawn of values: of a stack each line with all that lies below
   * it, so that later ones cover earlier ones.  Pure. */
  function drawn(chart, data) {
    const { stacked, series } = chart, [times, ...rows] = closed(chart, data);
    if (!stacked)
      return [times, ...rows];
    const below = times.map(() => null);
    const out = rows.slice().reverse().map((row, i) => {
      if (!series[rows.length - 1 - i].hidden)
        row.forEach((v, t) => {
          if (v !== null && v !== undefined)
            below[t] += v;
        });
      return below.slice();
    });
    return [times, ...out.reverse()];
  }

  function lineOf(s, stacked) {
    const stroke = token(s.colour);
    return { label: s.label, stroke, width: s.width || 1.6, show: !s.hidden,
      fill: stacked ? stroke : s.fill ? stroke + '22' : undefined, spanGaps: false,
      dash: s.dash, points: { show: false } };
  }

  /* At least from 0 to `least`, with a little air above the highest. */
  function scaleY(least) {
    return (u, min, max) => {
      const top = Math.max(least || 0, max === null ? 0 : max);
      return [0, top === 0 ? 1 : top * 1.08];
    };
  }

  function legendItem(chart, s, k) {
    const value = h('span', { class: 'legend-value' });
    const b = h('button', { type: 'button', class: 'legend-item',
      'aria-pressed': String(!s.hidden), title: 'Show or hide ' + s.label },
    h('span', { class: 'swatch ' + (s.dash ? 'swatch-dash' : ''),
      style: { color: 'var(' + s.colour + ')' } }),
    h('span', { class: 'legend-label', text: s.label }), value);
    b.addEventListener('click', () => {
      s.hidden = !s.hidden;
      b.setAttribute('aria-pressed', String(!s.hidden));
      if (chart.plot)
        chart.plot.setSeries(k + 1, { show: !s.hidden });
      if (chart.plot && chart.stacked)
        chart.plot.setData(drawn(chart, chart.data));
    });
    s.valueNode = value;
    s.item = b;
    b.hidden = !!s.optional;
    return b;
  }

  /* A value in words: with as many digits as are known. */
  function tell(chart, v, k) {
    return chart.tell ? chart.tell(v, k) : chart.format(v);
  }

  /* Values under the cursor, or the newest ones. */
  function showValues(chart, idx) {
    const [times, ...rows] = chart.data;
    const n = times.length - 1;
    idx = idx === null ? null : Math.min(idx, n); /* the newest goes on */
    chart.series.forEach((s, k) => {
      const row = rows[k] || [];
      const v = idx === null ? ns.series.last({ v: row }) : row[idx];
      s.valueNode.textContent = v === null || v === undefined
        ? '–' : tell(chart, v, k);
      s.item.hidden = !!s.optional && row.every((x) => x === null);
    });
    const t = idx === null || n < 0 ? null : times[idx];
    const [mark] = t === null ? [] : ns.marks.near(ns.marks.all(), t,
      Math.max(times[1] - times[0] || 0, secondsOf(chart, NEAR_PX)));
    chart.time.textContent = t === null ? '' : ns.format.clock(t, true);
    chart.mark.textContent = mark ? ns.format.clock(mark.time, true) + ' ' +
      ns.marks.words(mark) : '';
  }

  /* The time that so many pixels of the plot are. */
  function secondsOf(chart, px) {
    return chart.plot ? chart.plot.posToVal(px, 'x') -
      chart.plot.posToVal(0, 'x') : 0;
  }

  function describe(chart) {
    const [times, ...rows] = chart.data;
    const parts = chart.series.flatMap((s, k) => {
      const e = ns.series.extent({ v: rows[k] || [] });
      return s.optional && !e ? [] : s.label + (e
        ? ': last ' + tell(chart, ns.series.last({ v: rows[k] }), k) +
          (chart.tell ? '' : ', mean ' + chart.format(e.mean)) +
          ', highest ' + tell(chart, e.max, k) + (e.gaps ? ', ' + e.gaps + ' gaps' : '')
        : ': no data');
    });
    const marks = ns.marks.all().length;
    return chart.title + ', ' + (times.length
      ? ns.format.range(times[0], times[times.length - 1]) : '') + '. ' +
      parts.join('; ') + '.' + (marks ? ' ' + marks + ' marks.' : '');
  }

  function options(chart) {
    const width = Math.max(120, chart.box.clientWidth);
    return {
      width, height: chart.height, padding: [10, 28, 0, 0],
      legend: { show: false }, axes: axes(chart.format),
      cursor: { drag: { x: !!chart.onSelect, y: false, setScale: false },
        y: false, points: { size: 7 },
        /* a brush is of the chart that it is drawn on, and one step back */
        sync: chart.sync ? { key: chart.sync, setSeries: false,
          filters: { pub: (type) => !/^(mousedown|mouseup|dblclick)$/
            .test(type) } } : undefined },
      scales: { x: { time: true, range: () => chart.span || [0, 1] },
        y: { range: scaleY(chart.least) } },
      series: [{}, ...chart.series.map((s) => lineOf(s, chart.stacked))],
      hooks: {
        drawClear: [(u) => drawGaps(chart, u)],
        draw: [drawMarks],
        setCursor: [(u) => showValues(chart,
          u.cursor.idx === undefined ? null : u.cursor.idx)],
        setSelect: [(u) => brushed(chart, u)]
      }
    };
  }

  /*
   * Spans [from, until) in which no line has a value: pure.  `times` are
   * starts of steps; the range may begin before the first one.
   */
  function gaps(span, times, rows) {
    const out = [];
    let open = times.length === 0 || times[0] > span[0] ? span[0] : null;
    times.forEach((t, i) => {
      const known = rows.some((r) => r[i] !== null && r[i] !== undefined);
      if (known && open !== null) {
        out.push([open, t]);
        open = null;
      } else if (!known && open === null) {
        open = t;
      }
    });
    const newest = times.length > 1 ? times[1] - times[0] : 0;
    if (open !== null && open < span[1] - 2 * newest)
      out.push([open, span[1]]);
    return out.filter(([a, b]) => b > a);
  }

  /* Hatches what is not known, so that nobody takes it for calm. */
  function drawGaps(chart, u) {
    const [times, ...rows] = chart.data;
    const { ctx } = u;
    const { left, top, width, height } = u.bbox;
    ctx.save();
    ctx.beginPath();
    for (const [a, b] of gaps(chart.span || [0, 0], times, rows)) {
      const x = Math.max(left, u.valToPos(a, 'x', true));
      const end = Math.min(left + width, u.valToPos(b, 'x', true));
      ctx.rect(x, top, Math.max(0, end - x), height);
    }
    ctx.clip();
    ctx.strokeStyle = token('--chart-gap');
    ctx.lineWidth = devicePixelRatio || 1;
    ctx.beginPath();
    for (let x = left - height; x < left + width;
      x += 9 * (devicePixelRatio || 1)) {
      ctx.moveTo(x, top + height);
      ctx.lineTo(x + height, top);
    }
    ctx.stroke();
    ctx.restore();
  }

  /* A stroke for what happened, with a flag on top. */
  function drawMarks(u) {
    const { ctx } = u, { left, top, width, height } = u.bbox;
    const px = devicePixelRatio || 1;
    ctx.save();
    ctx.lineWidth = px;
    ctx.setLineDash([3 * px, 3 * px]);
    for (const m of ns.marks.all()) {
      const x = Math.round(u.valToPos(m.time, 'x', true)) + 0.5;
      if (x < left || x > left + width)
        continue;
      ctx.strokeStyle = ctx.fillStyle = token(ns.marks.colour(m));
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
      ctx.fillRect(x - 2.5 * px, top - 5 * px, 5 * px, 5 * px);
    }
    ctx.restore();
  }

  function brushed(chart, u) {
    const { left, width } = u.select;
    if (width < MIN_BRUSH_PX || chart.brushing)
      return;
    const a = u.posToVal(left, 'x'), b = u.posToVal(left + width, 'x');
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    choose(chart, a, b);
  }

  /* Whole slots; a brush inside one slot means that slot. */
  function choose(chart, a, b) {
    const slot = ns.mode.slot();
    const { from, until } = ns.time.outward({ from: a, until: b }, slot);
    chart.onSelect({ from, until: until > from ? until : from + slot });
  }

  /* uPlot's own brush listens to the mouse; this one is for fingers. */
  function touchBrush(chart, u) {
    let start = null;
    const x = (e) => Math.min(u.over.clientWidth, Math.max(0,
      e.clientX - u.over.getBoundingClientRect().left));
    const draw = (e) => {
      const left = Math.min(start, x(e));
      chart.brushing = true;
      u.setSelect({ left, width: Math.abs(x(e) - start), top: 0,
        height: u.over.clientHeight }, false);
    };
    u.over.addEventListener('pointerdown', (e) => {
      start = e.pointerType === 'mouse' ? null : x(e);
    });
    u.over.addEventListener('pointermove', (e) => {
      if (start !== null)
        draw(e);
    });
    u.over.addEventListener('pointerup', () => {
      chart.brushing = false;
      if (start !== null)
        brushed(chart, u);
      start = null;
    });
    u.over.addEventListener('pointercancel', () => {
      chart.brushing = false;
      start = null;
      u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    });
  }

  const KEYS = { '+': [0.5, 0], '=': [0.5, 0], '-': [2, 0],
    ArrowLeft: [1, -0.25], ArrowRight: [1, 0.25] };

  function keys(chart) {
    chart.box.addEventListener('keydown', (e) => {
      if (!KEYS[e.key] || !chart.span || e.ctrlKey || e.metaKey || e.altKey)
        return;
      e.preventDefault();
      chart.onSelect(ns.time.transform(
        { from: chart.span[0], until: chart.span[1] }, ...KEYS[e.key],
        { slot: ns.mode.slot() }));
    });
  }

  function draw(chart) {
    if (chart.plot)
      chart.plot.destroy();
    chart.plot = null;
    chart.box.querySelectorAll('.uplot').forEach((n) => n.remove());
    if (typeof uPlot === 'undefined') {
      message(chart, 'The charting library is not beside this page.');
      return;
    }
    chart.inBytes = inBytes(chart.format);
    chart.plot = new uPlot(options(chart), drawn(chart, chart.data),
      chart.box);
    if (chart.onSelect)
      touchBrush(chart, chart.plot);
  }

  function message(chart, text) {
    chart.note.textContent = text || '';
    chart.note.hidden = !text;
    chart.box.classList.toggle('chart-empty', !!text);
  }

  function set(chart, span, times, rows) {
    chart.span = [span.from, span.until];
    chart.data = [times, ...rows];
    if (chart.plot && chart.inBytes === inBytes(chart.format))
      chart.plot.setData(drawn(chart, chart.data));
    else if (chart.box.clientWidth > 0)
      draw(chart);
    showValues(chart, null);
    chart.box.setAttribute('aria-label', describe(chart));
  }

  /*
   * {title, series: [{label, colour, fill, dash, hidden, optional: without
   * a value it is not in the legend}], format, height, least, sync, onSelect,
   * stacked: lines lie on each other, the last one at the bottom,
   * tell(v, line): what is told of a value}.  Returns {node, legend,
   * set(span, times, rows), message(text)}; colours are names of tokens, times are seconds.
   */
  function create(spec) {
    const chart = Object.assign({ height: 180, data: [[]], plot: null }, spec);
    chart.data = [[], ...chart.series.map(() => [])];
    chart.note = h('p', { class: 'chart-note', hidden: true });
    chart.box = h('div', { class: 'chart', tabindex: '0', role: 'group',
      'aria-roledescription': 'line chart', 'aria-label': chart.title,
      style: { minHeight: chart.height + 'px' } }, chart.note);
    chart.mark = h('span', { class: 'legend-mark' });
    chart.time = h('span', { class: 'legend-time' });
    chart.legend = h('div', { class: 'legend' },
      chart.series.map((s, k) => legendItem(chart, s, k)), chart.mark,
      chart.time);
    if (chart.onSelect)
      keys(chart);
    /* Axes of no range would tell times and values that are none. */
    message(chart, 'Loading…');
    new ResizeObserver(() => {
      const width = chart.box.clientWidth;
      if (width <= 0)
        return;
      if (!chart.plot && chart.span)
        draw(chart);
      else if (chart.plot && Math.abs(chart.plot.width - width) > 1)
        chart.plot.setSize({ width, height: chart.height });
    }).observe(chart.box);
    ns.theme.on(() => {
      if (chart.plot)
        draw(chart);
    });
    ns.marks.on(() => {
      if (chart.plot)
        chart.plot.redraw(false);
    });
    return { node: chart.box, legend: chart.legend,
      set: (span, times, rows) => set(chart, span, times, rows),
      message: (text) => message(chart, text) };
  }

  ns.chart = { create, gaps, axes, drawn, timeLabels };
})(globalThis.MemLens = globalThis.MemLens || {});
