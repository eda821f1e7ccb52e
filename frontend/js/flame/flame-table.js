/*
 * The table of functions: self and total of the whole profile, sortable,
 * filtered by the search, as table.json answers; the flame graph's accessible
 * twin.  Long tables are cut, and say so.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const SHOWN = 300;
  const COLUMNS = [['name', 'Function'], ['self', 'Self'],
    ['total', 'Total']];
  const PLACE = 'Where the function was written';

  /* "self" is largest first, "name" is A first; a "-" turns it round. */
  function order(sort) {
    const key = sort.replace('-', '');
    const sign = sort[0] === '-' ? -1 : 1;
    const names = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    return key === 'name' ? (a, b) => sign * names(a, b)
      : (a, b) => sign * (b[key] - a[key]) || b.total - a.total ||
        names(a, b);
  }

  function ariaSort(sort, key) {
    if (sort.replace('-', '') !== key)
      return 'none';
    return (sort[0] === '-') === (key === 'name') ? 'descending'
      : 'ascending';
  }

  /* spec: {onSort(sort), onPick(name), onHover(row or null)}. */
  class FlameTable {
    constructor(spec) {
      Object.assign(this, { spec, rows: [], more: 0, sort: 'self',
        value: String, samples: () => null, picked: null, place: null,
        why: '', empty: '' });
      this.body = h('tbody');
      this.rest = h('p', { class: 'table-more', hidden: true });
      this.heads = COLUMNS.map(([key, title]) => h('th', { scope: 'col',
        class: key === 'name' ? '' : 'num' }, h('button', { type: 'button',
        class: 'sort-button', text: title, onclick: () =>
          spec.onSort(this.sort === key ? '-' + key : key) })));
      this.source = h('th', { scope: 'col', class: 'place-col', hidden: true,
        title: PLACE }, h('span', { class: 'sort-button', text: 'Source' }));
      this.node = h('div', { class: 'fn-table table-scroll', tabindex: '0',
        role: 'region', 'aria-label': 'Functions' },
      h('table', { class: 'data-table' },
        h('caption', { class: 'visually-hidden',
          text: 'What each function has, itself and with what it calls' }),
        h('thead', {}, h('tr', {}, this.heads, this.source)), this.body),
      this.rest);
      this.node.addEventListener('pointerleave', () => spec.onHover(null));
      ns.theme.on(() => this.draw());
    }

    cell(r, key, share, width) {
      const v = r[key], samples = this.samples(r, key);
      return h('td', { class: 'num', title: samples === null ? this.value(v)
        : ns.flameFacts.countText(samples, r[key + '_unknown']) +
          ' samples' },
        h('span', { class: 'cell-bar', style: {
          width: width * 100 + '%' } }),
        h('span', { class: 'cell-text' }, this.value(v),
          h('span', { class: 'cell-share',
            text: share === null ? '–' : (share * 100).toFixed(1) +
              ' %' })));
    }

    line(r, mostSelf) {
      const colour = ns.colour.frame(r.name, r.kind, ns.theme.current());
      const name = h('button', { type: 'button', class: 'fn-name',
        title: r.name, onclick: () => this.spec.onPick(r.name) },
      h('span', { class: 'fn-dot', style: { background: colour } }),
      h('span', { class: 'fn-text', text: r.name }));
      return h('tr', { class: r.name === this.picked ? 'picked' : '',
        onpointerenter: () => this.spec.onHover(r) },
      h('th', { scope: 'row' }, name), this.cell(r, 'self',
        r.self_share, mostSelf ? r.self / mostSelf : 0),
      this.cell(r, 'total', r.total_share, r.total_share || 0),
      this.place && this.written(r));
    }

    written(r) {
      const list = this.place(r.name, r.kind);
      return h('td', { class: 'place-col', title: list
        ? ns.flamePlaces.whole(list) : 'not known' }, list
        ? ns.flamePlaces.brief(list) : '–');
    }

    draw() {
      const held = this.body.contains(document.activeElement)
        ? document.activeElement.title : null;
      const rows = this.rows.slice().sort(order(this.sort));
      const most = rows.reduce((m, r) => Math.max(m, r.self), 0);
      this.body.replaceChildren(...rows.slice(0, SHOWN)
        .map((r) => this.line(r, most)));
      if (rows.length === 0)
        this.body.append(h('tr', {}, h('td', { colspan: '4', class: 'absent',
          text: this.empty })));
      this.source.hidden = !this.place;
      const more = this.more + Math.max(0, rows.length - SHOWN);
      const notes = [this.place && this.why, more > 0 &&
        ns.format.count(more) + ' more functions: search to find them.']
        .filter(Boolean);
      this.rest.hidden = notes.length === 0;
      this.rest.textContent = notes.join(' ');
      COLUMNS.forEach(([key], k) =>
        this.heads[k].setAttribute('aria-sort', ariaSort(this.sort, key)));
      if (held)
        this.refocus(held);
    }

    /* Rows are made anew with each answer; the keyboard stays on its own. */
    refocus(title) {
      const b = [...this.body.querySelectorAll('.fn-name')]
        .find((n) => n.title === title);
      if (b)
        b.focus({ preventScroll: true });
    }

    /* {rows, more: how many are not among them, value(amount), samples(row,
     * "self" or "total") or null, sort, picked: name or null, place(name,
     * kind) or null without that column, why there are none, empty: what
     * stands there without a row}. */
    show(patch) {
      Object.assign(this, patch);
      this.draw();
    }
  }

  ns.flameTable = { create: (spec) => new FlameTable(spec), order, SHOWN };
})(globalThis.MemLens = globalThis.MemLens || {});
