/*
 * The dashboard's wiring: state in, requests out.  One tab is alive at a
 * time; a newer refresh aborts the older one; while following, the view
 * moves every slot, or as often as its charts change.  While the connection is
 * lost, what was shown stays.
 */
(function (ns) {
  'use strict';

  const { $ } = ns.dom;
  const FOLLOW_MS = 10000, POINTS = 320, SERVICES_MS = 60000;
  const tabs = {};
  let bar, note, services = [], servicesOf = '', servicesAt = 0;
  let running = null, shownMode = '', shownOf = '';
  let busy = false, askedAt = 0;

  function tab(id) {
    if (!tabs[id])
      tabs[id] = ns[ns.views.of(id).module].create($('panel-' + id), refresh);
    return tabs[id];
  }

  function source() {
    return ns.mode.current === 'offline' ? 'demo' : 'live';
  }

  /* What an answer depends on: while the connection is lost, the same is
   * not asked again, and what stands there stays. */
  const question = (state) => source() + ns.views.question(state);

  function listServices({ service, tab: on }, error) {
    const { ALL } = ns.services, demo = source() === 'demo';
    const { profiles, ranged } = ns.views.of(on);
    const host = !demo || !profiles ||
      ns.recording.hasHost(ns.mode.snapshot);
    const all = host || service === ALL
      ? [{ name: ALL, label: 'whole host' }] : [];
    const known = services.some((s) => s.name === service) || service === ALL;
    bar.services((known || !service ? services
      : [{ name: service, label: service + ' (no data here)' }, ...services])
      .concat(services.length || service === ALL ? all : []), service);
    note.show(!ranged ? null
      : ns.services.note(service, services, { demo, host,
        error }));
  }

  /* Those of the range; one that is missed is looked for each time. */
  async function knowServices({ service, from, until }, range, signal) {
    const of = JSON.stringify([source(), from, until]);
    const known = service === ns.services.ALL ? services.length
      : services.some((s) => s.name === service);
    if (known && of === servicesOf && Date.now() - servicesAt < SERVICES_MS)
      return;
    if (of !== servicesOf)
      services = [];
    services = await ns.services.load(range, signal);
    servicesOf = of;
    servicesAt = Date.now();
  }

  /* The first choice is the address's from then on: a link holds it, and
   * no other service takes its place when this one falls silent. */
  function settleService() {
    if (!ns.view.get().service && services.length)
      ns.view.set({ service: services[0].name },
        { replace: true, quiet: true });
    return ns.view.get();
  }

  /* '' stands for the whole host. */
  function context(state, range, signal) {
    return { state, range, signal, services,
      service: state.service === ns.services.ALL ? '' : state.service,
      step: ns.time.step(range.until - range.from, POINTS, range.slot) };
  }

  /* A refresh ended without a successor. */
  function halt() {
    if (running)
      running.abort();
    running = null;
    busy = false;
    $('panel-' + ns.view.get().tab).removeAttribute('aria-busy');
  }

  async function refresh() {
    if (ns.mode.current === 'starting')
      return;
    let state = ns.view.get();
    if (ns.mode.current === 'lost' && question(state) === shownOf) {
      ns.mode.poll();
      return;
    }
    if (running)
      running.abort();
    running = new AbortController();
    const { signal } = running;
    const range = ns.view.range();
    const panel = $('panel-' + state.tab);
    panel.setAttribute('aria-busy', 'true');
    tab(state.tab); /* it says that it loads */
    busy = true;
    askedAt = Date.now();
    bar.show(state);
    try {
      const why = await knowServices(state, range, signal).catch((e) => {
        if (e.name === 'AbortError')
          throw e;
        return e.message;
      });
      state = settleService();
      listServices(state, why);
      const ctx = context(state, range, signal);
      await Promise.all([tab(state.tab).refresh(ctx), ns.views.of(state.tab)
        .ranged && ns.marks.load(ctx)]);
      shownOf = question(state);
      panel.dataset.loaded = ns.mode.current;
    } catch (e) {
      if (e.name === 'AbortError')
        return; /* a newer refresh is under way, or halt() was called */
      busy = false;
      throw e;
    }
    busy = false;
    panel.removeAttribute('aria-busy');
  }

  /* A tab and a panel for each view, and what its keys do. */
  function makeViews() {
    const { h } = ns.dom, { LIST } = ns.views;
    $('tabs').append(...LIST.map(({ id, title }) => h('button', {
      type: 'button', class: 'tab', role: 'tab', id: 'tab-' + id,
      'aria-controls': 'panel-' + id, text: title,
      onclick: () => ns.view.set({ tab: id }),
      onkeydown: (e) => walkTabs(e, id) })));
    $('main').append(...LIST.map(({ id }) => h('div', { class: 'panel',
      role: 'tabpanel', id: 'panel-' + id, 'aria-labelledby': 'tab-' + id,
      hidden: true })));
    const keys = (text) => text.split('`').map((part, k) =>
      (k % 2 ? h('kbd', { text: part }) : part));
    const line = ([where, what]) => [h('dt', {}, keys(where)),
      h('dd', {}, keys(what))];
    $('help-keys').prepend(...line([LIST.map((v, k) => '`' + (k + 1) + '`')
      .join(' '), LIST.map((v) => v.title).join(', ')]));
    $('help-keys').append(...LIST.flatMap((v) =>
      (v.help || []).flatMap(line)));
  }

  function walkTabs(e, id) {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!way)
      return;
    e.preventDefault();
    const { IDS } = ns.views;
    const next = IDS[(IDS.indexOf(id) + way + IDS.length) % IDS.length];
    ns.view.set({ tab: next });
    $('tab-' + next).focus();
  }

  function showTab(state) {
    const view = ns.views.of(state.tab);
    for (const id of ns.views.IDS) {
      const on = id === state.tab;
      const button = $('tab-' + id);
      button.setAttribute('aria-selected', String(on));
      button.tabIndex = on ? 0 : -1;
      $('panel-' + id).hidden = !on;
    }
    $('range-bar').hidden = !view.ranged;
    document.title = view.title + ' – MemLens';
  }

  /* Once what is above has its place. */
  async function lead(shown, { tab: on }) {
    await shown;
    if (ns.view.get().tab === on && tab(on).land)
      tab(on).land();
  }

  function changed(state, before, land) {
    let shown = null;
    showTab(state);
    bar.show(state);
    if (ns.views.question(state) !== ns.views.question(before))
      shown = refresh();
    else if (tab(state.tab).arrange)
      tab(state.tab).arrange(state);
    if (land)
      lead(shown, state);
    if (state.mode !== before.mode)
      ns.mode.force(state.mode === 'offline');
  }

  /* Keys of the whole page; never while somebody types. */
  function pageKeys() {
    const help = $('help');
    const KEYS = {
      '?': () => help.showModal(),
      '/': () => tab(ns.view.get().tab).search &&
        tab(ns.view.get().tab).search.focus(),
      z: () => ns.view.zoomOut(),
      r: () => refresh()
    };
    ns.views.IDS.forEach((id, k) => {
      KEYS[k + 1] = () => ns.view.set({ tab: id });
    });
    document.addEventListener('keydown', (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || help.open ||
        /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
        return;
      if (KEYS[e.key]) {
        e.preventDefault();
        KEYS[e.key]();
      }
    });
    $('help-button').addEventListener('click', () => help.showModal());
    $('help-close').addEventListener('click', () => help.close());
  }

  /* Not under somebody's brush. */
  function brushing() {
    return !!document.querySelector('.u-over:active');
  }

  /* Would charts of the range show more than when they were asked for? */
  function due({ from, until, slot }) {
    return Date.now() - askedAt >
      ns.time.refresh(until - from, POINTS, slot) * 1000 - FOLLOW_MS / 2;
  }

  /* A slow answer is waited for: aborting it each time would show none. */
  function follow() {
    const range = ns.view.range();
    if (!document.hidden && !busy && !brushing() && ns.mode.current === 'live' &&
      range.follow && due(range) && ns.views.of(ns.view.get().tab).ranged)
      refresh();
  }

  /* An address without a range shows all of a young store, not an empty
   * hour with a stroke at its end. */
  let fitted = /[?&]from=/.test(location.search);
  function fit(mode) {
    if (fitted || mode.current !== 'live')
      return;
    fitted = true;
    const oldest = ns.time.parse(mode.health.store.from, NaN);
    if (oldest > 0)
      ns.view.set({ from: ns.time.presetFor(Date.now() / 1000 - oldest) },
        { replace: true });
  }

  function modeChanged(mode) {
    shownMode = mode.current;
    /* The same question keeps its answer, another one fails aloud. */
    if (mode.current === 'lost' && question(ns.view.get()) === shownOf) {
      halt();
      return;
    }
    fit(mode);
    refresh();
  }

  function start() {
    ns.theme.bind($('theme-button'));
    makeViews();
    ns.view.start();
    bar = ns.rangeBar.create($('range-bar'), () => refresh());
    note = ns.services.line();
    $('range-bar').after(note.node);
    const show = ns.status.create({ button: $('health'),
      switcher: $('mode'), bannerNode: $('banner') });
    ns.mode.on((mode) => {
      show(mode);
      document.body.dataset.mode = mode.current;
      if (mode.current !== shownMode)
        modeChanged(mode);
    });
    ns.view.on(changed);
    pageKeys();
    showTab(ns.view.get());
    bar.show(ns.view.get());
    ns.mode.start(ns.view.get().mode === 'offline');
    setInterval(follow, FOLLOW_MS);
    document.addEventListener('visibilitychange', follow);
  }

  start();
})(globalThis.MemLens = globalThis.MemLens || {});
