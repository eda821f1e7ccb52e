/*
 * The toolbar of the profile card (view, search, direction, export) and the
 * legend of its colours.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const VIEWS = [['both', 'Both'], ['table', 'Table'], ['flame', 'Flame'],
    ['sandwich', 'Sandwich'], ['compare', 'Compare']];

  function searchBox() {
    const box = h('input', { type: 'search', class: 'search-input',
      id: 'flame-search', placeholder: 'Search, or /regex/',
      'aria-label': 'Search functions', spellcheck: 'false',
      oninput: () => ns.view.set({ search: box.value }, { replace: true }) });
    return box;
  }

  /* A link shows the same tomorrow: "now" becomes the time that it is. */
  async function copyLink(button) {
    const r = ns.view.range();
    const state = Object.assign({}, ns.view.get(), {
      from: String(Math.round(r.from)), until: String(Math.round(r.until)) });
    await ns.dom.copy(location.origin.replace('null', '') +
      location.pathname + ns.urlState.serialise(state));
    button.replaceChildren(ns.dom.icon('check'));
    setTimeout(() => button.replaceChildren(ns.dom.icon('link')), 2000);
  }

  /* fillExport(popover) is called when the export menu opens. */
  function create(fillExport) {
    const views = VIEWS.map(([value, label]) => h('button', { type: 'button',
      class: 'segment', 'data-value': value, text: label,
      onclick: () => ns.view.set({ view: value }) }));
    const type = ns.card.picker('Profile', (name) =>
      ns.view.set({ type: name, fn: '', zoom: '', reason: '', band: '' }));
    type.node.hidden = true;
    const search = searchBox();
    const matched = h('span', { class: 'matched', role: 'status' });
    const flip = h('button', { type: 'button', class: 'icon-button',
      title: 'Turn upside down', 'aria-label': 'Turn the graph upside down',
      onclick: () => ns.view.set({ grow: ns.view.get().grow === 'up'
        ? 'down' : 'up' }) }, ns.dom.icon('flip'));
    const give = h('button', { type: 'button', class: 'button' },
      ns.dom.icon('download'), 'Export');
    ns.dom.popover(give, fillExport, 'Export').classList.add('menu');
    const share = h('button', { type: 'button', class: 'icon-button',
      title: 'Copy a link to this view', 'aria-label':
        'Copy a link to this view', onclick: () => copyLink(share) },
    ns.dom.icon('link'));
    const source = h('button', { type: 'button', class: 'button toggle',
      text: 'Source', title: 'Where functions were written: file and line',
      onclick: () => ns.view.set({ places: ns.view.get().places ? ''
        : '1' }) });
    const filter = ns.flameFilter.create();
    const idler = h('button', { type: 'button', class: 'button toggle',
      hidden: true, title: 'Waits for work: for any of several files, for ' +
        'connections, for signals, in sleeps, and outside statements for ' +
        'conditions that give up after a time, or by a database\'s own ' +
        'threads for the background',
      onclick: () => ns.view.set({ idle: ns.view.get().idle ? '' : '1',
        zoom: '' }) });
    const node = h('div', { class: 'flame-toolbar' }, type.node,
      h('div', { class: 'segments', role: 'group', 'aria-label': 'View' },
        views),
      h('label', { class: 'search-field' }, ns.dom.icon('search'), search),
      matched, filter.button, idler, source, filter.chips, h('span', { class: 'spacer' }),
      flip, share, give);

    function show(state, text, wrong) {
      filter.show(state);
      for (const b of views)
        b.setAttribute('aria-pressed',
          String(b.dataset.value === state.view));
      flip.setAttribute('aria-pressed', String(state.grow === 'up'));
      source.setAttribute('aria-pressed', String(state.places === '1'));
      source.hidden = state.view === 'flame' || state.view === 'compare';
      /* Typing goes on while answers arrive: do not move the caret. */
      if (search.value !== state.search)
        search.value = state.search;
      search.setAttribute('aria-invalid', String(wrong));
      matched.textContent = text;
    }

    /* Types of profiles: {all, one} of ns.types.choose(). */
    function offer({ all, one }) {
      type.node.hidden = all.length < 2;
      type.set(all.map((t) => [t.name, t.title]), one ? one.name : '');
    }

    function idle(text, shown) {
      idler.hidden = text === null;
      idler.textContent = text || '';
      idler.setAttribute('aria-pressed', String(shown));
    }
    return { node, search, show, offer, idle };
  }

  /* Of kinds of code; of wall time, of states.  show(states) says which. */
  function legend() {
    const of = (items) => h('ul', { class: 'kind-legend',
      'aria-label': 'Colours' }, items.map(([text, data]) => h('li', {},
      h('span', { class: 'fn-dot', ...data }), text)));
    const kinds = of(ns.colour.KINDS.map(({ kind, label }) =>
      [label, { 'data-kind': kind }]));
    const states = of([['on CPU', { 'data-off': '0' }], ['both',
      { 'data-off': '0.5' }], ['waits', { 'data-off': '1' }]]);
    const node = h('div', {}, kinds, states);
    const paint = () => {
      const theme = ns.theme.current();
      for (const dot of kinds.querySelectorAll('[data-kind]'))
        dot.style.background = ns.colour.frame('legend', dot.dataset.kind,
          theme);
      for (const dot of states.querySelectorAll('[data-off]'))
        dot.style.background = ns.colour.state('legend',
          Number(dot.dataset.off), theme);
    };
    const show = (of) => {
      kinds.hidden = of;
      states.hidden = !of;
    };
    ns.theme.on(paint);
    paint();
    show(false);
    return { node, show };
  }

  ns.flameBar = { create, legend };
})(globalThis.MemLens = globalThis.MemLens || {});
