/*
 * The landing page: the newest flame graph and four numbers of now, from the
 * API or from the snapshot.  It says which of both.
 */
(function (ns) {
  'use strict';

  const { $ } = ns.dom;
  const F = ns.format, S = ns.series;
  const SPAN_S = 900, REFRESH_MS = 30000;

  let shown = '', flame = null, frames = ns.flameTree.decode(null), zoomed = 0;
  let unit = ns.flameFacts.unitOf({}), service = '', services = [];

  function makeFlame() {
    const tip = ns.flameTip.tooltip();
    const to = (i) => {
      zoomed = Math.max(0, i);
      flame.zoom(zoomed);
      tip.hide();
    };
    flame = ns.flameCanvas.create({ up: true,
      label: 'Flame graph of the last quarter of an hour',
      onZoom: to, onEscape: () => to(frames.parent[zoomed] || 0),
      onFocus: (i) => ns.dom.announce(
        ns.flameTip.sentence(frames, i, zoomed, unit)),
      onMenu: () => undefined,
      onHover: (i, e) => (i < 0 ? tip.hide()
        : tip.show(frames, i, zoomed, unit, e)) });
    $('hero-flame').append(flame.node);
  }

  function caption(service, range, answer, type) {
    const live = ns.mode.current === 'live';
    const m = answer.memlens || {};
    const from = ns.time.parse(m.from, range.from);
    $('hero-caption').textContent = frames.ticks === 0
      ? (service || 'the whole host') + ': nothing recorded in the last quarter of an hour'
      : (service || 'the whole host') + ', ' + F.range(from, ns.time.parse(m.until, range.until)) +
        ', ' + ns.types.amount(unit.text(frames.ticks), type) + ', ' + (live
        ? 'live' : 'from the snapshot') +
        ((m.partial || []).length ? ', some data is missing' : '');
  }

  async function drawFlame(service, range) {
    const { one: type } = await ns.types.choose(services, service, '');
    if (!type)
      throw new Error('no profile was recorded');
    const answer = await ns.api.get('flamegraph.json', {
      query: ns.request.selector(type.name, service ? { service } : {}),
      from: range.from, until: range.until, 'max-nodes': 2000 });
    frames = ns.flameTree.decode(answer);
    unit = ns.flameFacts.unitOf(answer);
    flame.show(frames);
    zoomed = 0;
    caption(service, range, answer, type);
  }

  function put(id, value, text) {
    $(id).textContent = value === null ? '' : text;
  }

  async function numbers(service, range) {
    const L = { service }, G = { groupname: service };
    const q = ns.request.selector;
    const r = await ns.api.series([
      { key: 'cpu', fn: 'rate',
        query: q('namedprocess_namegroup_cpu_seconds_total', G) },
      { key: 'hit', query: q('leveldb_cache_hit_ratio', L) },
      { key: 'disk', query: 'node_disk_io_time_seconds_total', fn: 'rate' }],
    range, range.slot);
    const lasts = (key) => r[key].cols.map((c) => S.last(c))
      .filter((v) => v !== null);
    const cpu = S.last(S.sum(r.cpu.cols)), busy = lasts('disk');
    put('now-cpu', cpu, F.percent(cpu) + ' of one CPU');
    put('now-storage', 1, S.between(lasts('hit'), F.percent,
      ' record cache hits since start'));
    put('now-disk', busy.length ? 1 : null, F.percent(Math.max(...busy)) +
      ' busiest disk');
    const graph = await ns.api.get('graph.json', { depth: '2' });
    put('now-deps', 1, graph.nodes.length + ' targets within 2 steps');
  }

  /* The service of the first answer stays: another one is not its present. */
  async function refresh() {
    const range = ns.time.resolve('now-' + SPAN_S + 's', 'now',
      ns.mode.now(), ns.mode.slot());
    const list = service ? []
      : await ns.services.load(range).catch(() => []);
    if (list.length)
      [services, service] = [list, list[0].name];
    const quiet = (e) => {
      if (ns.mode.current !== 'lost')
        $('hero-caption').textContent = e.message;
    };
    await Promise.all([drawFlame(service, range).catch(quiet),
      numbers(service, range).catch(() => undefined)]);
  }

  /* What it had stays, and is said to be old. */
  function lost(mode) {
    const old = $('hero-caption').textContent;
    $('hero-caption').textContent = (mode.wasLive ? old + ' · ' : '') +
      'no connection since ' + F.clock(mode.since, true) + ': ' + mode.why;
  }

  function changed(mode) {
    if (mode.current === 'lost')
      return lost(mode);
    if (mode.current === 'offline')
      service = '';
    return refresh();
  }

  function start() {
    ns.theme.bind($('theme-button'));
    makeFlame();
    const show = ns.status.pill($('health'));
    ns.mode.on((mode) => {
      show(mode);
      /* Nobody answers these from a file or a snapshot. */
      for (const a of document.querySelectorAll('.live-only'))
        a.hidden = !mode.api;
      if (mode.current !== shown && mode.current !== 'starting')
        changed(mode);
      shown = mode.current;
    });
    show(ns.mode);
    ns.mode.start(false);
    setInterval(() => {
      if (!document.hidden && ns.mode.current === 'live' && zoomed === 0)
        refresh();
    }, REFRESH_MS);
  }

  start();
})(globalThis.MemLens = globalThis.MemLens || {});
