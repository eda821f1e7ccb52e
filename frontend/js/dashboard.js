/*
 * The dashboard's wiring: state in, requests out.  One tab is alive at a
 * time; a newer refresh aborts the older one; while following, the view
 * moves every slot.  While the connection is lost, what was shown stays.
 */
(function (ns) {
  'use strict';

  const { $ } = ns.dom;
  const FOLLOW_MS = 10000, POINTS = 320, SERVICES_MS = 60000;
  const tabs = {};
  let bar, note, services = [], servicesOf = '', servicesAt = 0;
  let running = null, shownMode = '', shownOf = '';
  let busy = false, lastView = '';

  const MAKERS = { memory: ns.memoryTab, cpu: ns.cpuTab, runs: ns.runsTab,
    deps: ns.depsTab };

  function tab(name) {
    if (!tabs[name])
      tabs[name] = MAKERS[name].create($('panel-' + name));
    return tabs[name];
  }

  function source() {
    return ns.mode.current === 'offline' ? 'demo' : 'live';
  }

  /* What an answer depends on: while the connection is lost, the same is
   * not asked again, and what stands there stays. */
  function question(state) {
    return JSON.stringify([source(), state.tab, state.view === 'compare',
      ...tab(state.tab).keys.map((k) => state[k])]);
  }

  function listServices({ service, tab: on }, error) {
    const { ALL } = ns.services, demo = source() === 'demo';
    const host = !demo || ns.recording.has(ns.mode.snapshot, 'cpu');
    const all = host || service === ALL
      ? [{ name: ALL, label: 'whole host' }] : [];
    const known = services.some((s) => s.name === service) || service === ALL;
    bar.services((known || !service ? services
      : [{ name: service, label: service + ' (no data here)' }, ...services])
      .concat(services.length || service === ALL ? all : []), service);
    note.show(on === 'deps' ? null
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
    return { state, range, signal,
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
    lastView = state.view;
    const panel = $('panel-' + state.tab);
    panel.setAttribute('aria-busy', 'true');
    tab(state.tab); /* it says that it loads */
    busy = true;
    bar.show(state);
    try {
      const why = await knowServices(state, range, signal).catch((e) => {
        if (e.name === 'AbortError')
          throw e;
        return e.message;
      });
      state = settleService();
      listServices(state, why);
      await tab(state.tab).refresh(context(state, range, signal));
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
    ns.view.start();
    bar = ns.rangeBar.create($('range-bar'));
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
