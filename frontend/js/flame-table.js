/*
 * The table of functions: self and total, sortable, filtered by the search;
 * the accessible twin of the flame graph.  Long tables are cut, and say so.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const SHOWN = 300;
  const COLUMNS = [['name', 'Function'], ['self', 'Self'],
    ['total', 'Total']];

  function order(sort) {
    const key = sort.replace('-', '');
    /* Numbers start with the largest, names with A; "-" turns it round. */
    const sign = sort[0] === '-' ? -1 : 1;
    return (a, b) => (key === 'name'
      ? sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
      : sign * (b[key] - a[key]) || b.total - a.total ||
        (a.name < b.name ? -1 : 1));
  }

  /* spec: {onSort(sort), onPick(id), onHover(id or null)}. */
  function create(spec) {
    const body = h('tbody');
    const more = h('p', { class: 'table-more', hidden: true });
    const heads = COLUMNS.map(([key, title]) => {
      const b = h('button', { type: 'button', class: 'sort-button',
        text: title, onclick: () => spec.onSort(
          g.sort === key ? '-' + key : key) });
      return h('th', { scope: 'col', class: key === 'name' ? '' : 'num' }, b);
    });
    const node = h('div', { class: 'fn-table table-scroll', tabindex: '0',
      role: 'region', 'aria-label': 'Functions' },
    h('table', { class: 'data-table' },
      h('caption', { class: 'visually-hidden',
        text: 'Samples per function, itself and with what it calls' }),
      h('thead', {}, h('tr', {}, heads)), body), more);
    const g = { rows: [], ticks: 0, sort: 'self', value: String, picked: null,
      theme: '' };

    function cell(v, most) {
      const share = g.ticks ? v / g.ticks : 0;
      return h('td', { class: 'num', title: ns.format.count(v) + ' samples' },
        h('span', { class: 'cell-bar', style: {
          width: (most ? v / most * 100 : 0) + '%' } }),
        h('span', { class: 'cell-text' }, g.value(v),
          h('span', { class: 'cell-share',
            text: (share * 100).toFixed(1) + ' %' })));
    }

    function line(r, mostSelf) {
      const name = h('button', { type: 'button', class: 'fn-name',
        title: r.name, onclick: () => spec.onPick(r.id) },
      h('span', { class: 'fn-dot', style: { background:
        ns.colour.frame(r.name, r.kind, ns.theme.current()) } }),
      h('span', { class: 'fn-text', text: r.name }));
      const tr = h('tr', { 'aria-selected': String(r.id === g.picked),
        class: r.id === g.picked ? 'picked' : '' },
      h('th', { scope: 'row' }, name), cell(r.self, mostSelf),
      cell(r.total, g.ticks));
      tr.addEventListener('pointerenter', () => spec.onHover(r.id));
      return tr;
    }

    function draw() {
      const rows = g.rows.slice().sort(order(g.sort));
      const most = rows.reduce((m, r) => Math.max(m, r.self), 0);
      body.replaceChildren(...rows.slice(0, SHOWN)
        .map((r) => line(r, most)));
      if (rows.length === 0)
        body.append(h('tr', {}, h('td', { colspan: '3', class: 'absent',
          text: 'No function matches.' })));
      more.hidden = rows.length <= SHOWN;
      more.textContent = (rows.length - SHOWN) + ' more functions: search ' +
        'to find them.';
      COLUMNS.forEach(([key], k) => {
        const down = g.sort === key ? (key === 'name' ? 'ascending'
          : 'descending') : g.sort === '-' + key
          ? (key === 'name' ? 'descending' : 'ascending') : 'none';
        heads[k].setAttribute('aria-sort', down);
      });
    }
    node.addEventListener('pointerleave', () => spec.onHover(null));
    ns.theme.on(draw);

    /* value formats ticks; picked is an id or null. */
    return { node, show(patch) {
      Object.assign(g, patch);
      draw();
    } };
  }

  ns.flameTable = { create, order };
})(globalThis.MemLens = globalThis.MemLens || {});
