/*
 * Histograms of a service as heat maps, one at a time: disks, syncs and looking
 * for memory.  What is dragged on one is the range of all, and the profile below
 * becomes that of the waits of its kind in that time.
 */
(function (ns) {
  'use strict';

  const F = ns.format;
  const { h } = ns.dom;
  const COLUMNS = 180; /* at most, about */

  /* reason: of the waits that are shown for it; counted: in words. */
  const disk = (title, name, labels) => ({ title, name, labels,
    source: 'disk', reason: 'disk', counted: 'requests' });
  const KINDS = {
    read: disk('Disk reads', 'disk_device_seconds', { operation: 'read' }),
    write: disk('Disk writes', 'disk_device_seconds',
      { operation: 'write' }),
    flush: disk('Disk flushes', 'disk_device_seconds',
      { operation: 'flush' }),
    queue: disk('Requests before the disk', 'disk_queue_seconds', {}),
    bytes: disk('Sizes of requests', 'disk_request_bytes', {}),
    sync: { title: 'fsync and its like', name: 'disk_sync_seconds',
      labels: {}, source: 'sync', reason: 'disk', counted: 'calls' },
    reclaim: { title: 'Direct reclaim', name: 'direct_reclaim_seconds',
      labels: {}, source: 'reclaim', counted: 'stalls' },
    compaction: { title: 'Compaction', name: 'compaction_seconds',
      labels: {}, source: 'reclaim', counted: 'stalls' },
    runq: { title: 'Run queue', name: 'run_queue_seconds', labels: {},
      source: 'run queue', key: 'run-queue', reason: 'run queue',
      counted: 'waits' },
    fault: { title: 'Major page faults', name: 'major_fault_seconds',
      labels: {}, source: 'major faults', key: 'major-faults',
      reason: 'fault', counted: 'faults' }
  };
  /* Told in each slot in which histograms of a source are taken. */
  const WITNESS = 'memlens_histograms_attached';
  /* now: its state, or '' where it is not enabled.  Pure. */
  const off = ({ source, key }, now) => 'No data: the source “' + source +
    '” was not attached in this range. ' + (now ? 'Now it is ' + now + '.'
    : (key || 'enabled') + ' = yes under [disk] in memlens.conf starts it.');
  const LABEL = 'Arrows walk the cells, Shift selects, Enter takes what is ' +
    'selected.';

  const LOST = 'memlens_disk_lost_total'; /* of the whole host */
  /* Reasons that are of one kind alone: the run queue's, and the others'. */
  const QUEUED = ['run queue full'];
  const REQUESTS = ['sums full', 'beginning unknown', 'end not seen'];

  const queries = () => [{ key: 'seen', query: WITNESS, fn: 'max' },
    { key: 'lost', query: LOST, fn: 'increase' }];
  const queryOf = ({ name, labels }, service) => ns.request.selector(name,
    service ? Object.assign({}, labels, { service }) : labels);

  /* "1e-3~4e-3" of the address: {low, high}, or null.  Pure. */
  function band(text) {
    const [low, high] = String(text).split('~').map(Number);
    return text && low >= 0 && low < high && high < Infinity
      ? { low, high } : null;
  }

  /* The row of quantiles of a whole range, in words.  Pure. */
  function summary({ columns, points }, format, counted) {
    const row = points && points[0];
    if (!row || !row[row.length - 1])
      return '0 ' + counted;
    if (row[1] === null)
      return F.count(row[row.length - 1]) + ' ' + counted +
        ' · percentiles of a part are not in the recorded demo';
    return columns.map((name, i) => [name, row[i]])
      .filter(([name]) => /^p\d|^max$/.test(name))
      .map(([name, v]) => name + ' ' + format(v)).join(' · ') + ' · ' +
      F.count(row[row.length - 1]) + ' ' + counted;
  }

  /* What no histogram of a kind has, by the host's counters, in words.
   * Pure. */
  function lostText({ cols }, { source }) {
    const others = source === 'run queue' ? REQUESTS : QUEUED;
    const n = cols.filter((c) => !others.includes(c.labels.reason))
      .flatMap((c) => c.v).reduce((sum, v) => sum + (v || 0), 0);
    return n ? ' · of the whole host, not measured: ' + F.count(n) : '';
  }

  /* What the band has, and what the profile below shows of it.  Pure. */
  function bandText({ n, all }, { low, high }, kind, format) {
    return format(low) + ' to ' + format(high) + ': ' + F.count(n) + ' of ' +
      F.count(all) + ' ' + kind.counted + (all ? ' (' +
      F.percent(n / all) + ')' : '') + '. ' + (kind.reason
      ? 'The profile below is of all waits of this kind (off CPU, reason ' +
        kind.reason + ') in this range, short and long: stacks are not kept ' +
        'by latency.'
      : 'The profile below is of this range, whatever its threads did: ' +
        'these stalls have no stacks.');
  }

  /* What a link's band is not told of: {band, why}, one of them null.  Pure. */
  function shownBand(map, state, kind, format) {
    const chosen = band(state.band), own = ns.heat.snap(map, chosen);
    if (chosen && kind.reason && (state.type !== 'offcpu' ||
      state.reason !== kind.reason))
      return { band: null, why: 'The band of this address is not shown: the ' +
        'profile below is not of waits of this kind (off CPU, reason ' +
        kind.reason + ').' };
    return { band: own, why: chosen && !own ? 'The band of this address, ' +
      format(chosen.low) + ' to ' + format(chosen.high) + ', is not shown: ' +
      'it is narrower than those of the map.' : null };
  }

  function table(answer, format, known) {
    const at = ['p50', 'p99', 'p99.9', 'max', 'count'];
    const of = (p, name) => p[answer.columns.indexOf(name)];
    const cell = (p, name, i) => (!known(i) ? 'no data'
      : name === 'count' ? F.count(of(p, name))
        : of(p, name) === null ? '–' : format(of(p, name)));
    return h('table', { class: 'table heat-numbers' },
      h('thead', {}, h('tr', {}, ['from', ...at].map((text) =>
        h('th', { scope: 'col', text })))),
      h('tbody', {}, answer.points.map((p, i) => h('tr', {},
        h('th', { scope: 'row', text: F.dateTime(p[0]) }),
        at.map((name) => h('td', { text: cell(p, name, i) }))))));
  }

  function create() {
    const picker = ns.card.picker('Histogram', (heat) =>
      ns.view.set({ heat, band: '', reason: '' }));
    picker.set(Object.entries(KINDS).map(([id, k]) => [id, k.title]),
      'read');
    const map = ns.heat.create({ label: LABEL, onSelect: select });
    const line = h('p', { class: 'heat-line', role: 'status' });
    const note = h('p', { class: 'hint heat-note', hidden: true });
    const back = h('button', { type: 'button', class: 'button',
      hidden: true, text: 'All waits', onclick: () =>
        ns.view.set({ band: '', reason: '' }) });
    const numbers = h('details', { class: 'heat-details', ontoggle: fill },
      h('summary', { text: 'As a table' }));
    const node = h('article', { class: 'card heat-card' },
      h('header', { class: 'card-head' },
        h('h3', { class: 'card-title', text: 'Latency' }),
        ns.dom.infoButton('Latency', ['Each column is a stretch of time, ' +
          'each row a band of values, on a logarithmic scale: the darker, ' +
          'the more. Grey: nothing was measured.',
        'Drag to select a time and a band: the profile below becomes that ' +
          'of the waits of this kind in that time. ' + LABEL]),
        h('span', { class: 'spacer' }), back, picker.node),
      line, map.node, note, numbers);
    let kind = KINDS.read, shown = null;

    function fill() {
      if (!numbers.open || !shown)
        return;
      numbers.replaceChildren(numbers.firstChild,
        h('div', { class: 'heat-scroll', tabindex: '0', role: 'region',
          'aria-label': 'Numbers of the heat map' }, table(shown.answer,
          shown.format, shown.known)));
    }

    function select(area) {
      const more = { band: area.low + '~' + area.high };
      if (kind.reason)
        Object.assign(more, { type: 'offcpu', reason: kind.reason, fn: '',
          zoom: '' });
      ns.view.select(area, more);
    }

    async function ask(ctx, { from, until }) {
      const query = queryOf(kind, ctx.service);
      const step = ns.time.step(until - from, COLUMNS, ctx.range.slot);
      const [answer, whole, seen] = await Promise.all([
        ns.api.get('heatmap.json', { query, from, until, step },
          { signal: ctx.signal }),
        ns.api.get('heatmap.json', { query, from, until, step: until - from,
          bands: 1 }, { signal: ctx.signal }),
        ns.api.series(queries(), ctx.range, step, ctx.signal)]);
      return { answer, whole, lost: lostText(seen.lost, kind),
        times: new Set(seen.seen.cols.filter((c) =>
          c.labels.source === kind.source).flatMap((c) => c.t
          .filter((_, i) => c.v[i] !== null))) };
    }

    /* Nothing counted is 0 only of what is known to have run. */
    function absent({ service, services }, times, lost) {
      if (!times.size)
        return off(kind, ns.health.enabled(ns.mode.health, kind.source));
      return service && !services.some((s) => s.name === service)
        ? 'No data of “' + service + '” in this range.'
        : '0 ' + kind.counted + ' in this range' + (lost || '.');
    }

    function show(ctx, { answer, whole, lost, times }) {
      const format = answer.unit === 'bytes' ? F.bytes : F.seconds;
      const known = (col) => times.has(answer.from + col * answer.step) ||
        !!(answer.points && answer.points[col] &&
          answer.points[col].slice(-1)[0] > 0);
      const g = ns.heat.grid(answer);
      const said = shownBand(g, ctx.state, kind, format);
      map.show(answer, { band: said.band, known, format, label: kind.title +
        ', ' + summary(whole, format, kind.counted) + '. ' + LABEL });
      map.node.hidden = numbers.hidden = !answer.cells;
      ns.dom.say(line, answer.cells
        ? summary(whole, format, kind.counted) + lost
        : absent(ctx, times, lost));
      note.hidden = back.hidden = !(said.band || said.why) || !answer.cells;
      if (!note.hidden)
        ns.dom.say(note, said.why || bandText(ns.heat.inBand(g, said.band),
          said.band, kind, format));
      shown = answer.cells ? { answer, format, known } : null;
      fill();
    }

    function fail(text) {
      map.node.hidden = numbers.hidden = note.hidden = back.hidden = true;
      ns.dom.say(line, text);
    }

    async function refresh(ctx) {
      const id = Object.hasOwn(KINDS, ctx.state.heat) ? ctx.state.heat
        : 'read';
      kind = KINDS[id];
      node.hidden = false;
      picker.select.value = id;
      try {
        show(ctx, await ask(ctx, ctx.range.from < ctx.range.until
          ? ns.time.outward(ctx.range, ctx.range.slot) : ctx.range));
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        fail('Latency: ' + e.message);
        node.hidden = ns.mode.current === 'offline';
      }
    }
    return { node, refresh };
  }

  ns.latency = { create, queries, queryOf, band, summary, bandText, lostText,
    shownBand, KINDS };
})(globalThis.MemLens = globalThis.MemLens || {});
