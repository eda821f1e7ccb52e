/*
 * The state of the page: what the address bar says, plus the breadcrumbs of
 * ranges, which the browser's history keeps.  Everything that changes the
 * view goes through set(), everything that shows it listens with on().
 */
(function (ns) {
  'use strict';

  const listeners = [];
  let state = ns.urlState.defaults();
  let crumbs = [];
  let bad = {}; /* of the address, not understood */

  function write(replace) {
    const url = location.pathname + ns.urlState.serialise(state) +
      location.hash;
    try {
      history[replace ? 'replaceState' : 'pushState']({ crumbs }, '', url);
    } catch {
      /* Some browsers refuse this to files; the page works without. */
    }
  }

  function emit(before, land = false) {
    for (const fn of listeners)
      fn(state, before, land);
  }

  /* replace: do not make an entry in the history (typing, defaults);
   * quiet: whoever listens knows already; land: the reader is led to what
   * the new view is about. */
  function set(patch, { replace = false, quiet = false, land = false,
    trail } = {}) {
    const before = state;
    state = Object.assign({}, state, patch);
    if (trail)
      crumbs = trail;
    bad = Object.fromEntries(Object.entries(bad).filter(([k]) =>
      !Object.hasOwn(patch, k)));
    if (trail || Object.keys(patch).some((k) => patch[k] !== before[k])) {
      write(replace);
      if (!quiet)
        emit(before, land);
    }
  }

  function read(event) {
    const before = state;
    bad = {};
    state = ns.urlState.parse(location.search, bad);
    const kept = (event ? event.state : history.state) || {};
    crumbs = Array.isArray(kept.crumbs) ? kept.crumbs : [];
    return before;
  }

  function start() {
    read(null);
    addEventListener('popstate', (e) => emit(read(e)));
  }

  /* What can be answered of a range: live, all of it; of a recording, the
   * whole slots that it touches, and no more than there are. */
  function covered(r) {
    const s = ns.mode.current === 'offline' && ns.mode.snapshot;
    return s && r.from < r.until ? Object.assign({}, r,
      ns.time.within(ns.time.outward(r, ns.mode.slot()), s)) : r;
  }

  /* What has to be said of the address, as it was opened. */
  const problems = () => ns.urlState.problems(bad);

  /* The range of the address. */
  function asked() {
    return ns.time.resolve(state.from, state.until, ns.mode.now(),
      ns.mode.slot());
  }

  /* What is shown: {from, until, slot, follow}, and `outside` where the
   * recording has nothing of it. */
  function range() {
    return covered(asked());
  }

  function fixed(r) {
    return { from: String(r.from), until: String(r.until) };
  }

  /* A narrower range, and what else changes with it; the present one becomes
   * a breadcrumb. */
  function select(r, more = {}) {
    const { from, until } = state;
    set(Object.assign(fixed(r), more), { trail: [...crumbs, { from, until }].slice(-8) });
  }

  /* Back to breadcrumb i, by default the last; without any, wider. */
  function zoomOut(i = crumbs.length - 1) {
    if (i >= 0)
      return set(crumbs[i], { trail: crumbs.slice(0, i) });
    const slot = ns.mode.slot();
    const r = ns.time.transform(range(), 2, 0, { slot });
    const edge = ns.time.onGrid(ns.mode.now(), slot, Math.floor);
    const over = Math.max(0, r.until - edge);
    return set(fixed({ from: r.from - over, until: r.until - over }));
  }

  /* A preset that follows the present. */
  function follow(from) {
    set({ from, until: 'now' }, { trail: [] });
  }

  function pause() {
    set(fixed(range()));
  }

  ns.view = { get: () => state, crumbs: () => crumbs, set, start, range,
    asked, covered, problems, select, zoomOut, follow, pause, on: (fn) => listeners.push(fn) };
})(globalThis.MemLens = globalThis.MemLens || {});
