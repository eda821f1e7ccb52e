/*
 * Cards: one value with its history, or one chart with its legend.  A card
 * tells "no data", "not attached", "not in the snapshot" and 0 apart.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;

  function head(spec, ...more) {
    return h('header', { class: 'card-head' },
      h('h3', { class: 'card-title', text: spec.title }),
      spec.info && ns.dom.infoButton(spec.title, spec.info),
      h('span', { class: 'spacer' }), more);
  }

  /* Why a card has no value, in the words it shows. */
  function absence(results) {
    const errors = results.map((r) => r.error).filter(Boolean);
    if (errors.length && errors.length === results.length)
      return errors[0].message;
    const apart = results.find((r) => r.state !== 'data' &&
      r.state !== 'no data');
    return apart ? apart.state : 'no data';
  }

  /* Does damage take something from these numbers? */
  function partial(results) {
    return results.some((r) => r.partial && r.partial.length > 0);
  }

  /* spec: {title, info, format, meter, floor}. */
  function stat(spec) {
    const number = h('span', { class: 'stat-number', text: '…' });
    const unit = h('span', { class: 'stat-unit' });
    const note = h('p', { class: 'stat-note' });
    const spark = ns.spark.create();
    const meter = spec.meter && h('span', { class: 'meter-fill' });
    const node = h('article', { class: 'card stat', 'data-state': 'loading' },
      head(spec), h('p', { class: 'stat-value' }, number, ' ', unit),
      meter && h('span', { class: 'meter', 'aria-hidden': 'true' }, meter),
      spark.node, note);

    /* v: the value, null when there is none; col: its history; text: what is
     * noted of it, or of its absence. */
    function show(v, col, text, results) {
      const state = v === null ? absence(results) : 'data';
      const [a, b] = v === null ? [state, ''] : ns.format.split(
        spec.format(v));
      number.textContent = a;
      unit.textContent = b;
      node.dataset.state = v === null ? 'absent' : 'data';
      note.textContent = [text,
        v !== null && partial(results) && 'partial: some data is damaged']
        .filter(Boolean).join(' · ');
      spark.set(v === null ? null : col, spec.floor);
      if (meter)
        meter.style.width = (v === null ? 0 : Math.min(1, v) * 100) + '%';
    }
    return { node, show };
  }

  /* spec as of MemLens.chart.create, and info; more goes into the head. */
  function chart(spec, ...more) {
    const c = ns.chart.create(spec);
    const mark = h('p', { class: 'stat-note partial', hidden: true,
      text: 'partial: some data of this range is damaged' });
    const node = h('article', { class: 'card chart-card' },
      head(spec, more), mark, c.legend, c.node);

    /* cols: one column a line, null for a line without data. */
    function show(range, cols, results) {
      const known = cols.filter(Boolean);
      const times = ns.series.axis(known);
      const rows = cols.map((col) => (col ? ns.series.align(col, times)
        : times.map(() => null)));
      c.set(range, times, rows);
      const any = rows.some((r) => r.some((v) => v !== null));
      mark.hidden = !partial(results);
      c.message(any ? '' : absence(results));
    }
    return { node, show, chart: c };
  }

  /* A section's title line. */
  function section(title, ...more) {
    return h('div', { class: 'section-head' },
      h('h2', { text: title }), more);
  }

  /* A labelled select; set(options, value) with [value, text] pairs. */
  function picker(label, onchange) {
    const select = h('select', { 'aria-label': label,
      onchange: () => onchange(select.value) });
    let known = '';
    return { node: h('label', { class: 'field' },
      h('span', { class: 'field-label', text: label }), select), select,
    set(options, value) {
      const key = JSON.stringify(options);
      if (key !== known)
        select.replaceChildren(...options.map(([v, text]) =>
          h('option', { value: v, text: text || v })));
      known = key;
      select.value = value;
      select.disabled = options.length < 2;
    } };
  }

  ns.card = { stat, chart, section, picker, absence };
})(globalThis.MemLens = globalThis.MemLens || {});
