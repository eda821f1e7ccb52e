/*
 * The compared profile: A and B, how they are brought to one size, both
 * trees as one picture, and the table of what moved.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, D = ns.flameDiff, T = ns.flameTree;
  const HOW = [['total', 'Shares'], ['time', 'Per second'],
    ['requests', 'Per request']];
  const SHOWN = 200, TYPING_MS = 250;
  const COLUMNS = [
    ['name', 'Function'], ['self', 'Self, A and B'],
    ['difference', 'Self moved'], ['total', 'Total, A and B'],
    ['total-difference', 'Total moved'], ['', 'Samples']];

  /* A size in the words of how it came about: a share, or an amount a second
   * or a request. */
  function amount(v, how) {
    if (how.by === 'total')
      return (v * 100).toFixed(v > 0 && v < 0.001 ? 2 : 1) + ' %';
    return how.by === 'time' ? how.unit.perSecond(v) : how.unit.text(v);
  }

  /* Shares differ by points: 8.9 % to 9.9 % is 1 pp, and 11 % more. */
  function signed(v, how) {
    if (v === null || v === undefined)
      return 'no data';
    const text = amount(Math.abs(v), how);
    return (v > 0 ? '+' : v < 0 ? '−' : '±') +
      (how.by === 'total' ? text.replace('%', 'pp') : text);
  }

  function plain(v, how) {
    return v === null || v === undefined ? 'no data' : amount(v, how);
  }

  /* {by, unit: how amounts of both sides read}. */
  function howOf(answer) {
    return { by: answer.normalise,
      unit: ns.flameFacts.unitOf(answer, answer.a || {}) };
  }

  function ratioText(r, difference) {
    if (r === null || r === undefined)
      return difference > 0 ? 'new' : '';
    return r === 0 ? 'gone' : '× ' + F.compact(r);
  }

  const SORTS = {
    name: (p, q) => (p.name < q.name ? -1 : 1),
    self: (p, q) => q.self[0] + q.self[1] - p.self[0] - p.self[1],
    total: (p, q) => q.total[0] + q.total[1] - p.total[0] - p.total[1],
    difference: (p, q) => Math.abs(q.self_difference) -
      Math.abs(p.self_difference),
    'total-difference': (p, q) => Math.abs(q.total_difference) -
      Math.abs(p.total_difference)
  };

  /* The rows of an answer in the order of the state. */
  function ordered(rows, state) {
    return rows.slice().sort((p, q) => SORTS[state.moved](p, q) ||
      SORTS.name(p, q));
  }

  /* The share of both sides that a search has found; null where neither
   * has anything. */
  function foundShare(answer) {
    const sum = (v) => v[0] * (answer.a.divided_by ? 1 / answer.a.divided_by
      : 0) + v[1] * (answer.b.divided_by ? 1 / answer.b.divided_by : 0);
    const all = sum([answer.leftTicks, answer.rightTicks]);
    return all > 0 ? sum(answer.matched.amount) / all : null;
  }

  class FlameCompare {
    constructor(tip, onRows) {
      Object.assign(this, { f: D.decode(null), answer: null, zoomed: 0 });
      this.tip = tip;
      this.unit = { facts: (f, i) => this.facts(i) };
      this.asked = ns.question.create('diff.json', () => onRows());
      this.makeControls();
      this.makeCanvas();
      this.makeTable();
      this.note = h('p', { class: 'chart-note', hidden: true });
      this.node = h('div', { class: 'flame-compare', hidden: true },
        this.controls, this.note, this.pane, this.table);
    }

    makeControls() {
      this.ab = ns.abBar.create();
      this.how = HOW.map(([value, label]) => h('button', { type: 'button',
        class: 'segment', 'data-value': value, text: label,
        onclick: () => ns.view.set({ normalise: value }) }));
      this.words = h('p', { class: 'compare-words' });
      this.controls = h('div', { class: 'compare-controls' }, this.ab.node,
        h('div', { class: 'segments', role: 'group',
          'aria-label': 'Compare by' }, this.how), this.words);
    }

    makeCanvas() {
      const say = (i) => ns.flameTip.sentence(this.f, i, 0, this.unit);
      this.canvas = ns.flameCanvas.create({
        label: 'Differential flame graph. Arrow keys walk the frames, ' +
          'Enter zooms, Escape zooms out. The table has the same numbers.',
        fill: (i) => ns.colour.changed(D.frameChange(this.f, i),
          D.isFew(this.f, i), ns.theme.current()),
        text: (i) => this.label(i),
        onHover: (i, e) => (i < 0 ? this.tip.hide()
          : this.tip.show(this.f, i, 0, this.unit, e)),
        onFocus: (i) => ns.dom.announce(say(i)),
        onZoom: (i) => this.zoom(i),
        onEscape: () => this.zoom(this.f.parent[this.zoomed] || 0),
        onMenu: (i, at) => this.menu(i, at) });
      this.legend = h('ul', { class: 'kind-legend compare-legend',
        'aria-label': 'Colours' }, [['−1', 'only in A'], ['−0.3', 'less'],
        ['0', 'the same'], ['0.3', 'more'], ['1', 'only in B']].map(
        ([change, text]) => h('li', {}, h('span', { class: 'fn-dot',
          'data-change': change.replace('−', '-') }), text)),
      h('li', { class: 'muted', text: 'width: A and B together; faint: ' +
        'fewer than ' + D.FEW + ' samples' }));
      const paint = () => {
        for (const dot of this.legend.querySelectorAll('[data-change]'))
          dot.style.background = ns.colour.changed(
            Number(dot.dataset.change), false, ns.theme.current());
      };
      ns.theme.on(paint);
      paint();
      this.crumbs = h('nav', { class: 'crumbs flame-crumbs',
        'aria-label': 'Zoomed frames' });
      this.pane = h('div', { class: 'flame-pane compare-pane' }, this.crumbs,
        this.canvas.node, this.legend);
    }

    makeTable() {
      this.heads = COLUMNS.map(([key, title]) => h('th', { scope: 'col',
        class: key === 'name' ? '' : 'num' }, key ? h('button', {
        type: 'button', class: 'sort-button', text: title,
        onclick: () => ns.view.set({ moved: key }, { replace: true }) })
        : h('span', { class: 'sort-button', text: title })));
      this.body = h('tbody');
      this.more = h('p', { class: 'table-more', hidden: true });
      this.table = h('div', { class: 'fn-table compare-table table-scroll',
        tabindex: '0', role: 'region', 'aria-label': 'What moved' },
      h('table', { class: 'data-table' },
        h('caption', { class: 'visually-hidden',
          text: 'Functions in A and in B' }),
        h('thead', {}, h('tr', {}, this.heads)), this.body), this.more);
    }

    /* Signs beside colours: "+ name", "− name". */
    label(i) {
      const name = this.f.names[this.f.name[i]];
      const c = D.frameChange(this.f, i);
      return i === 0 || Math.abs(c) < 0.01 ? name
        : (c > 0 ? '+ ' : '− ') + name;
    }

    facts(i) {
      const f = this.f, how = howOf(this.answer);
      const counts = D.samples(f, i), unknown = D.unknown(f, i);
      const value = (v, s) => {
        const w = f.weights[s], n = counts[s];
        return (n === null ? f.units[s].text(v)
          : ns.flameFacts.countText(n, unknown[s]) + ' samples') +
          ' · ' + (w > 0 ? plain(v * w, how) : 'no data');
      };
      const [wa, wb] = f.weights;
      const moved = wa > 0 && wb > 0
        ? f.b[i] * wb - f.a[i] * wa : null;
      const few = D.isFew(f, i)
        ? [['Evidence', 'fewer than ' + D.FEW + ' samples']] : [];
      return [['A', value(f.a[i], 0)], ['B', value(f.b[i], 1)],
        ['Moved', signed(moved, how)],
        ['Ratio', f.a[i] * wa > 0 ? '× ' + F.compact(f.b[i] * wb /
          (f.a[i] * wa)) : 'only in B'], ...few];
    }

    zoom(i) {
      this.zoomed = i;
      this.canvas.zoom(i);
      const up = i > 0 ? T.path(this.f, i) : [];
      const name = (k) => this.f.names[this.f.name[k]];
      this.crumbs.replaceChildren(...up.map((k, n) => (n === up.length - 1
        ? h('span', { 'aria-current': 'true', text: name(k) })
        : h('button', { type: 'button', class: 'crumb',
          text: n === 0 ? 'all' : name(k), title: name(k),
          onclick: () => this.zoom(k) }))));
    }

    menu(i, at) {
      const name = this.f.names[this.f.name[i]];
      this.tip.hide();
      ns.flameTip.menu([
        ['Zoom to this frame', () => this.zoom(i)],
        ['Reset zoom', () => this.zoom(0)],
        ['Show callers and callees', () =>
          ns.view.set({ view: 'sandwich', fn: name })],
        ['Search for this function', () => ns.view.set({ search: name })],
        ['Copy the name', () => ns.dom.copy(name)]], at);
    }

    pair(values, how) {
      return h('td', { class: 'num' }, h('span', { class: 'pair' },
        values.map((v) => h('span', { text: plain(v, how) }))));
    }

    moved(difference, ratio, how, few) {
      const c = difference === null ? '' : difference > 0 ? 'more'
        : difference < 0 ? 'less' : '';
      return h('td', { class: 'num' }, h('span', {
        class: 'moved ' + (few ? 'moved-few' : c),
        text: signed(difference, how) }), ' ', h('span', {
        class: 'cell-share', text: ratioText(ratio, difference) }));
    }

    line(r, how) {
      const dot = ns.colour.frame(r.name, r.kind, ns.theme.current());
      const name = h('button', { type: 'button', class: 'fn-name',
        title: r.name, onclick: () => ns.view.set({ search:
          ns.view.get().search === r.name ? '' : r.name },
        { replace: true }) },
      h('span', { class: 'fn-dot', style: { background: dot } }),
      h('span', { class: 'fn-text', text: r.name }));
      return h('tr', {}, h('th', { scope: 'row' }, name),
        this.pair(r.self_normalised, how),
        this.moved(r.self_difference, r.self_ratio, how, r.few),
        this.pair(r.total_normalised, how),
        this.moved(r.total_difference, r.total_ratio, how, r.few),
        h('td', { class: 'num' }, r.samples === null ? '–'
          : (r.total_unknown || []).some((v) => v > 0)
            ? h('span', { text: '≥ ' + F.count(r.samples), title: 'Of some ' +
              'of its amount nobody has said how many samples it is.' })
            : F.count(r.samples), r.few ? h('span', { class: 'few',
            title: 'Fewer than ' + D.FEW + ' samples: too few for a ' +
              'statement', text: 'few' }) : null));
    }

    showTable(state) {
      const listed = this.listed(state), failed = this.asked.error;
      /* while it is asked for, what was there before stays, greyed */
      const a = listed || (failed ? null : this.answer);
      const rows = a ? ordered(a.rows, state) : [];
      this.table.setAttribute('aria-busy', String(!listed && !!a));
      this.body.replaceChildren(...rows.slice(0, SHOWN)
        .map((r) => this.line(r, howOf(a))));
      const rest = a ? a.functions - a.rows.length : 0;
      if (!rows.length && this.answer)
        this.body.append(h('tr', {}, h('td', { colspan: '6', class: 'absent',
          text: failed ? failed.message : 'No function matches.' })));
      const hidden = Math.max(0, rows.length - SHOWN) + rest;
      this.more.hidden = hidden === 0;
      this.more.textContent = F.count(hidden) +
        ' more functions: search to find them.';
      COLUMNS.forEach(([key], k) => this.heads[k].setAttribute('aria-sort',
        key && key === state.moved ? (key === 'name' ? 'ascending'
          : 'descending') : 'none'));
    }

    /* Rows of a search or of another order are asked for by themselves: an
     * answer has the first ones only. */
    ask(state, ctx) {
      const match = T.matcher(state.search);
      if (!ctx || !this.answer || match && match.error ||
        !match && state.moved === 'difference')
        return;
      this.asked.ask(Object.assign({}, ctx.params, { 'max-nodes': 1,
        search: state.search, sort: state.moved }),
      { wait: state.search ? TYPING_MS : 0 });
    }

    /* The answer whose rows the state asks for; null while it is awaited. */
    listed(state) {
      if (!state.search && state.moved === 'difference')
        return this.answer;
      const { answer, params } = this.asked;
      return answer && params.search === state.search &&
        params.sort === state.moved ? answer : null;
    }

    /* [text beside the search box, is it wrong?] */
    found(state) {
      const match = T.matcher(state.search), { error } = this.asked;
      this.canvas.search(!match ? null : match.test
        ? T.search(this.f, match).ids : new Set());
      if (!match)
        return ['', false];
      if (match.error || error && error.field === 'search')
        return ['not an expression', true];
      const a = this.listed(state);
      return [a && a.matched ? F.percent(foundShare(a)) + ' matched' : '…',
        false];
    }

    arrange(state, ctx) {
      this.node.hidden = state.view !== 'compare';
      for (const b of this.how)
        b.setAttribute('aria-pressed',
          String(b.dataset.value === ns.runs.normaliseOf(state,
            ctx && ctx.type)));
      ns.dom.say(this.how[1], ctx && ctx.type.kind === 'stock' ? 'Amounts'
        : 'Per second');
      const last = this.how[this.how.length - 1];
      last.disabled = !state.requests;
      last.title = state.requests
        || 'Choose what counts requests in the tab Runs';
      this.canvas.flip(state.grow === 'up');
      this.ask(state, ctx);
      this.showTable(state);
      return this.found(state);
    }

    say(text) {
      this.note.hidden = !text;
      this.note.textContent = text || '';
      this.node.classList.toggle('compare-none', !!text);
    }

    /* What a side lacks, in words; null where both have something. */
    absence(answer) {
      const lacks = ['a', 'b'].filter((s) => !answer[s].total);
      return lacks.length === 0 ? '' : 'In ' + lacks.map((s) =>
        s.toUpperCase()).join(' and ') + ': ' +
        ns.flameFacts.emptyText({ memlens: answer[lacks[0]] },
          this.title);
    }

    show(answer, ra, rb, ctx) {
      Object.assign(this, { answer, f: D.decode(answer),
        title: ctx.type.title });
      this.ab.show(ra, rb);
      ns.dom.say(this.words, answer.words);
      this.canvas.show(this.f, -1);
      this.zoom(0);
      this.say(this.f.ticks > 0 ? '' : this.absence(answer));
      this.warn = this.f.ticks > 0 ? this.absence(answer) : '';
      if (this.warn)
        ns.dom.say(this.words, this.warn + ' ' + answer.words);
      this.arrange(ns.view.get(), ctx);
    }

    fail(text, ra, rb) {
      Object.assign(this, { answer: null, f: D.decode(null) });
      this.ab.show(ra, rb);
      ns.dom.say(this.words, '');
      this.canvas.show(this.f, -1);
      this.say(text);
      this.arrange(ns.view.get());
    }
  }

  ns.flameCompare = { create: (tip, onRows) =>
    new FlameCompare(tip, onRows), signed, plain, howOf, foundShare };
})(globalThis.MemLens = globalThis.MemLens || {});
