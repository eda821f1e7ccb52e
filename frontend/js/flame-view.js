/*
 * The profile card: toolbar, table, flame graph, sandwich, and the facts
 * beside them (samples, what was lost, which range).  Holds the zoom; search,
 * view, order and the sandwich's function are part of the page's state.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const T = ns.flameTree, F = ns.format;
  const VIEWS = [['both', 'Both'], ['table', 'Table'], ['flame', 'Flame'],
    ['sandwich', 'Sandwich']];

  /* How ticks of an answer read: {text(v), cell(v) for tables, samples}. */
  function unitOf(answer) {
    const m = answer.memlens || {}, meta = answer.metadata || {};
    const unit = m.unit || meta.units || 'samples';
    const hz = meta.sampleRate;
    const time = (scale, samples) => ({ samples,
      text: (v) => F.seconds(v / scale),
      cell: (v) => F.fixedSeconds(v / scale) });
    if (unit === 'nanoseconds' || unit === 'ns')
      return time(1e9, false);
    if (unit === 'samples' && hz > 0)
      return time(hz, true);
    const text = unit === 'bytes' ? F.bytes : F.count;
    return { text, cell: text, samples: unit === 'samples' };
  }

  function lostText(lost) {
    return Object.entries(lost || {}).filter(([, n]) => n > 0)
      .map(([why, n]) => F.count(n) + ' ' + why.replace(/[_-]/g, ' '));
  }

  function toolbar(view) {
    const set = (patch, replace) => ns.view.set(patch, { replace });
    const bar = {};
    bar.views = VIEWS.map(([value, label]) => h('button', { type: 'button',
      class: 'segment', 'data-value': value, text: label,
      onclick: () => set({ view: value }) }));
    bar.search = h('input', { type: 'search', class: 'search-input',
      id: 'flame-search', placeholder: 'Search, or /regex/',
      'aria-label': 'Search functions', spellcheck: 'false',
      oninput: () => set({ search: bar.search.value }, true) });
    bar.matched = h('span', { class: 'matched', role: 'status' });
    bar.flip = h('button', { type: 'button', class: 'icon-button',
      title: 'Turn upside down', 'aria-label': 'Turn the graph upside down',
      onclick: () => set({ grow: ns.view.get().grow === 'up'
        ? 'down' : 'up' }) }, ns.dom.icon('flip'));
    bar.export = h('button', { type: 'button', class: 'button' },
      ns.dom.icon('download'), 'Export');
    ns.dom.popover(bar.export, view.fillExport, 'Export');
    bar.node = h('div', { class: 'flame-toolbar' },
      h('div', { class: 'segments', role: 'group', 'aria-label': 'View' },
        bar.views),
      h('label', { class: 'search-field' }, ns.dom.icon('search'),
        bar.search), bar.matched, h('span', { class: 'spacer' }), bar.flip,
      bar.export);
    return bar;
  }

  function legend() {
    return h('ul', { class: 'kind-legend', 'aria-label': 'Colours' },
      ns.colour.KINDS.map(({ kind, label }) => h('li', {},
        h('span', { class: 'fn-dot', 'data-kind': kind }), label)));
  }

  function paintLegend(node) {
    for (const dot of node.querySelectorAll('[data-kind]'))
      dot.style.background = ns.colour.frame('legend', dot.dataset.kind,
        ns.theme.current());
  }

  function create() {
    const g = { answer: null, f: T.decode(null), unit: unitOf({}), zoom: 0,
      range: null, service: '' };
    const tip = ns.flameTip.tooltip();
    const detail = h('p', { class: 'flame-detail' });
    const crumbs = h('nav', { class: 'crumbs flame-crumbs',
      'aria-label': 'Zoomed frames' });
    const facts = h('p', { class: 'flame-facts' });
    const note = h('p', { class: 'chart-note', hidden: true });
    const kinds = legend();

    /* tree() gives the frames that a canvas shows. */
    function handlers(tree, extra) {
      return Object.assign({
        onHover(i, e) {
          if (i < 0)
            tip.hide();
          else
            tip.show(tree(), i, g.zoom, g.unit, e);
          detail.textContent = i < 0 ? ''
            : ns.flameTip.sentence(tree(), i, g.zoom, g.unit);
        },
        onFocus(i) {
          const text = ns.flameTip.sentence(tree(), i, g.zoom, g.unit);
          detail.textContent = text;
          ns.dom.announce(text);
        },
        onMenu: (i, at) => frameMenu(tree(), i, at),
        onZoom: (i) => pick(tree().name[i]),
        onEscape: () => undefined
      }, extra);
    }

    const main = ns.flameCanvas.create(handlers(() => g.f, {
      label: 'Flame graph. Arrow keys walk the frames, Enter zooms, Escape ' +
        'zooms out. The table has the same numbers.',
      onZoom: (i) => zoom(i),
      onEscape: () => zoom(g.zoom > 0 ? g.f.parent[g.zoom] : 0),
      onLayout(laid) {
        g.hidden = laid.hidden;
        showFacts();
      } }));
    const sides = {};
    const callers = ns.flameCanvas.create(handlers(() => sides.callers,
      { label: 'Callers', up: true }));
    const callees = ns.flameCanvas.create(handlers(() => sides.callees,
      { label: 'Callees' }));
    const table = ns.flameTable.create({
      onSort: (sort) => ns.view.set({ sort }, { replace: true }),
      onPick: (id) => pick(id), onHover: (id) => main.mark(id) });
    const bar = toolbar({ fillExport });
    const fn = h('p', { class: 'sandwich-name' });
    const sandwich = h('div', { class: 'sandwich' }, fn,
      h('h4', { class: 'side-title', text: 'Callers' }), callers.node,
      h('h4', { class: 'side-title', text: 'Callees' }), callees.node);
    const flame = h('div', { class: 'flame-pane' }, crumbs, main.node);
    const body = h('div', { class: 'flame-body' }, table.node, flame,
      sandwich, note);
    const title = h('h3', { class: 'card-title', text: 'Flame graph' });
    const node = h('article', { class: 'card flame-card', 'aria-label':
      'CPU profile' },
    h('header', { class: 'card-head' }, title,
      ns.dom.infoButton('Flame graph', ['Each bar is a function, as wide as ' +
        'the CPU time of the samples in which it was on the stack. What it ' +
        'called stands next to it; the order from left to right has no ' +
        'meaning in time.',
      'Click a bar to zoom, Esc goes back one caller. The table counts a ' +
        'recursive function once.']),
      h('span', { class: 'spacer' }), facts), bar.node, body,
    h('footer', { class: 'flame-foot' }, detail, kinds));

    function zoom(i) {
      g.zoom = Math.max(0, i);
      main.zoom(g.zoom);
      const up = g.zoom > 0 ? T.path(g.f, g.zoom) : [];
      crumbs.replaceChildren(...up.map((k, n) => (n === up.length - 1
        ? h('span', { 'aria-current': 'true', text: g.f.names[g.f.name[k]] })
        : h('button', { type: 'button', class: 'crumb', text: n === 0
          ? 'all' : g.f.names[g.f.name[k]], onclick: () => zoom(k) }))));
      crumbs.scrollLeft = crumbs.scrollWidth;
      tip.hide();
    }

    function pick(id) {
      const name = g.f.names[id];
      const sandwiched = ns.view.get().view === 'sandwich';
      if (sandwiched)
        ns.view.set({ fn: name });
      else
        ns.view.set({ search: ns.view.get().search === name ? '' : name },
          { replace: true });
    }

    function frameMenu(f, i, at) {
      const name = f.names[f.name[i]];
      const items = [
        ['Show callers and callees', () =>
          ns.view.set({ view: 'sandwich', fn: name })],
        ['Search for this function', () => ns.view.set({ search: name })],
        ['Copy the name', () => ns.dom.copy(name)],
        ['Copy the stack', () => ns.dom.copy(T.path(f, i).slice(1)
          .map((k) => f.names[f.name[k]]).join(';'))]];
      if (f === g.f)
        items.unshift(['Zoom to this frame', () => zoom(i)],
          ['Reset zoom', () => zoom(0)]);
      tip.hide();
      ns.flameTip.menu(items, at);
    }

    function fillExport(pop) {
      const stem = 'memlens-' + (g.service || 'cpu') + '-' +
        F.dateTime(g.range ? g.range.from : 0).replace(/[ :]/g, '');
      const item = (label, act, off) => h('button', { type: 'button',
        class: 'menu-item', text: label, disabled: off, onclick: () => {
          pop.hidePopover();
          act();
        } });
      const none = !g.answer;
      pop.replaceChildren(
        ns.mode.current === 'live'
          ? h('a', { class: 'menu-item', target: '_blank', rel: 'noopener',
            href: ns.request.path('flamegraph.svg', g.params), text: 'SVG' })
          : item('SVG (needs Live)', () => undefined, true),
        item('JSON (flamebearer)', () => ns.dom.download(stem + '.json',
          'application/json', JSON.stringify(g.answer)), none),
        item('Folded stacks', () => ns.dom.download(stem + '.folded',
          'text/plain', T.folded(g.f)), none),
        item('PNG of the view', () => main.canvas.toBlob((blob) =>
          ns.dom.download(stem + '.png', 'image/png', blob)),
        none || flame.hidden));
    }

    function showFacts() {
      const m = (g.answer && g.answer.memlens) || {};
      const lost = lostText(m.lost);
      const parts = [];
      if (g.answer && g.f.ticks > 0)
        parts.push(g.unit.text(g.f.ticks) + ' of CPU time');
      if (m.samples !== undefined)
        parts.push(F.count(m.samples) + ' samples');
      const from = ns.time.parse(m.from, 0), until = ns.time.parse(m.until, 0);
      if (Number.isFinite(from) && Number.isFinite(until))
        parts.push(F.range(from, until));
      if (g.hidden)
        parts.push(F.count(g.hidden) + ' frames too narrow to draw');
      facts.replaceChildren(parts.join(' · '), g.answer && h('span', {
        class: lost.length ? 'lost lost-some' : 'lost',
        text: lost.length ? 'lost: ' + lost.join(', ') : 'nothing lost' }));
    }

    function showSearch(state) {
      const match = T.matcher(state.search);
      const found = match && match.test ? T.search(g.f, match) : null;
      if (bar.search.value !== state.search)
        bar.search.value = state.search;
      bar.search.setAttribute('aria-invalid', String(!!(match &&
        match.error)));
      bar.matched.textContent = !match ? '' : match.error
        ? 'not an expression' : F.percent(g.f.ticks
          ? found.ticks / g.f.ticks : null) + ' matched';
      main.search(found && found.ids);
      const picked = g.f.names.indexOf(state.view === 'sandwich'
        ? state.fn : state.search);
      table.show({ rows: T.functions(g.f).filter((r) =>
        !found || found.ids.has(r.id)), ticks: g.f.ticks,
      value: g.unit.cell, sort: state.sort, picked });
    }

    function showSandwich(state) {
      const id = state.fn ? g.f.names.indexOf(state.fn) : -1;
      const both = id > 0 ? T.sandwich(g.f, id) : null;
      fn.textContent = both ? state.fn : state.fn
        ? state.fn + ' has no samples in this range.'
        : 'Choose a function in the table to see who calls it and what it ' +
          'calls.';
      sandwich.classList.toggle('sandwich-empty', !both);
      sides.callers = both ? both.callers : T.decode(null);
      sides.callees = both ? both.callees : T.decode(null);
      callers.show(sides.callers);
      callees.show(sides.callees);
    }

    function arrange(state) {
      const v = state.view;
      body.dataset.view = v;
      table.node.hidden = v === 'flame';
      flame.hidden = v === 'table' || v === 'sandwich';
      sandwich.hidden = v !== 'sandwich';
      for (const b of bar.views)
        b.setAttribute('aria-pressed', String(b.dataset.value === v));
      bar.flip.setAttribute('aria-pressed', String(state.grow === 'up'));
      main.flip(state.grow === 'up');
      showSearch(state);
      if (v === 'sandwich')
        showSandwich(state);
    }

    /* "No data" and "0 samples" are different facts. */
    function emptyText(answer) {
      const m = answer.memlens || {};
      if (answer.state && answer.state !== 'ok')
        return 'The CPU profiler is ' + answer.state + '.';
      if (m.state && m.state !== 'ok')
        return 'The CPU profiler is ' + m.state + '.';
      return m.slots > 0
        ? '0 samples in this range; the probe was active.'
        : 'No data: nothing was recorded in this range.';
    }

    /* Where the new tree has the path that was zoomed, stay there. */
    function sameFrame(old, i) {
      let at = 0;
      for (const k of i > 0 ? T.path(old, i).slice(1) : []) {
        const name = old.names[old.name[k]];
        const next = T.children(g.f, at)
          .find((c) => g.f.names[g.f.name[c]] === name);
        if (next === undefined)
          return at;
        at = next;
      }
      return at;
    }

    function show(answer, ctx) {
      const old = g.f, was = g.zoom;
      Object.assign(g, { answer, f: T.decode(answer), unit: unitOf(answer),
        service: ctx.service, params: ctx.params, range: ctx.range });
      title.textContent = 'Flame graph of ' + (ctx.service || 'all');
      const none = g.f.ticks === 0;
      note.hidden = !none;
      note.textContent = none ? emptyText(answer) : '';
      body.classList.toggle('flame-none', none);
      main.show(g.f);
      zoom(sameFrame(old, was));
      showFacts();
      arrange(ctx.state);
    }

    function fail(text) {
      Object.assign(g, { answer: null, f: T.decode(null) });
      note.hidden = false;
      note.textContent = text;
      body.classList.add('flame-none');
      main.show(g.f);
      showFacts();
      arrange(ns.view.get());
    }
    ns.theme.on(() => paintLegend(kinds));
    paintLegend(kinds);
    return { node, show, fail, arrange, search: bar.search };
  }

  ns.flameView = { create, unitOf };
})(globalThis.MemLens = globalThis.MemLens || {});
