/*
 * The dashboard's wiring: state in, requests out.  One tab is alive at a
 * time; a newer refresh aborts the older one; while following, the view
 * moves every slot.
 */
(function (ns) {
  'use strict';

  const { $ } = ns.dom;
  const FOLLOW_MS = 10000, POINTS = 320, SERVICES_MS = 60000;
  const tabs = {};
  let bar, services = [], servicesAt = 0, running = null, shownMode = '';
  let busy = false, lastView = '';

  const MAKERS = { memory: ns.memoryTab, cpu: ns.cpuTab, runs: ns.runsTab,
    deps: ns.depsTab };

  function tab(name) {
    if (!tabs[name])
      tabs[name] = MAKERS[name].create($('panel-' + name));
    return tabs[name];
  }

  /* '' stands for all services; a snapshot has single ones only. */
  function chosen(state) {
    if (state.service === ns.services.ALL)
      return '';
    if (state.service)
      return state.service;
    return services.length ? services[0].name : '';
  }

  function listServices(state) {
    const { ALL } = ns.services;
    const name = state.service === ALL ? ALL : chosen(state);
    const all = ns.mode.current === 'live' || name === ALL
      ? [{ name: ALL, label: 'whole host' }] : [];
    const known = services.some((s) => s.name === name) || name === ALL;
    bar.services((known || !name ? services
      : [{ name, label: name + ' (not seen)' }, ...services])
      .concat(services.length ? all : []), name);
  }

  async function knowServices(range, signal) {
    if (services.length && Date.now() - servicesAt < SERVICES_MS)
      return;
    services = await ns.services.load(range, signal);
    servicesAt = Date.now();
  }

  function context(state, range, signal) {
    return { state, range, signal, service: chosen(state),
      step: ns.time.step(range.until - range.from, POINTS) };
  }

  async function refresh() {
    if (ns.mode.current === 'starting')
      return;
    if (running)
      running.abort();
    running = new AbortController();
    const { signal } = running;
    const state = ns.view.get();
    const range = ns.view.range();
    lastView = state.view;
    const panel = $('panel-' + state.tab);
    panel.setAttribute('aria-busy', 'true');
    tab(state.tab); /* it says that it loads */
    busy = true;
    bar.show(state);
    try {
      await knowServices(range, signal).catch((e) => {
        if (e.name === 'AbortError')
          throw e;
      });
      listServices(state);
      await tab(state.tab).refresh(context(state, range, signal));
      panel.dataset.loaded = ns.mode.current;
    } catch (e) {
      if (e.name === 'AbortError')
        return; /* a newer refresh is under way */
      busy = false;
      throw e;
    }
    busy = false;
    panel.removeAttribute('aria-busy');
  }

  function showTab(state) {
    for (const name of ns.urlState.TABS) {
      const on = name === state.tab;
      const button = $('tab-' + name);
      button.setAttribute('aria-selected', String(on));
      button.tabIndex = on ? 0 : -1;
      $('panel-' + name).hidden = !on;
    }
    $('range-bar').hidden = state.tab === 'deps';
    document.title = $('tab-' + state.tab).textContent.trim() + ' – MemLens';
  }

  function changed(state, keys) {
    showTab(state);
    bar.show(state);
    const t = tab(state.tab);
    const other = keys.has('view') && t.needs && t.needs(state, lastView);
    lastView = state.view;
    if (keys.has('tab') || other || t.keys.some((k) => keys.has(k)))
      refresh();
    else if (t.arrange)
      t.arrange(state);
    if (keys.has('mode'))
      ns.mode.force(state.mode === 'offline');
  }

  function tabKeys() {
    const list = ns.urlState.TABS;
    for (const name of list) {
      const b = $('tab-' + name);
      b.addEventListener('click', () => ns.view.set({ tab: name }));
      b.addEventListener('keydown', (e) => {
        const way = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
        if (!way)
          return;
        e.preventDefault();
        const k = (list.indexOf(name) + way + list.length) % list.length;
        ns.view.set({ tab: list[k] });
        $('tab-' + list[k]).focus();
      });
    }
  }

  /* Keys of the whole page; never while somebody types. */
  function pageKeys() {
    const help = $('help');
    const KEYS = {
      '?': () => help.showModal(),
      '/': () => tab(ns.view.get().tab).search &&
        tab(ns.view.get().tab).search.focus(),
      z: () => ns.view.zoomOut(),
      r: () => refresh(),
      1: () => ns.view.set({ tab: 'memory' }),
      2: () => ns.view.set({ tab: 'cpu' }),
      3: () => ns.view.set({ tab: 'runs' }),
      4: () => ns.view.set({ tab: 'deps' })
    };
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

  /* A slow answer is waited for: aborting it each time would show none. */
  function follow() {
    if (!document.hidden && !busy && !brushing() && ns.mode.current === 'live' &&
      ns.view.range().follow && !tab(ns.view.get().tab).still)
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

  function start() {
    ns.theme.bind($('theme-button'));
    ns.view.start();
    bar = ns.rangeBar.create($('range-bar'));
    const show = ns.status.create({ button: $('health'),
      switcher: $('mode'), bannerNode: $('banner') });
    ns.mode.on((mode) => {
      show(mode);
      document.body.dataset.mode = mode.current;
      if (mode.current !== shownMode) {
        shownMode = mode.current;
        services = [];
        fit(mode);
        refresh();
      }
    });
    ns.view.on(changed);
    tabKeys();
    pageKeys();
    showTab(ns.view.get());
    bar.show(ns.view.get());
    ns.mode.start(ns.view.get().mode === 'offline');
    setInterval(follow, FOLLOW_MS);
    document.addEventListener('visibilitychange', follow);
  }

  ns.dashboard = { refresh };
  start();
})(globalThis.MemLens = globalThis.MemLens || {});
