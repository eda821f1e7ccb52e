/*
 * Tab "CPU": the line of the service and of the host above, the profile of
 * the same range below.  A brush on the line changes the range of both.
 */
(function (ns) {
  'use strict';

  const S = ns.series;

  function queries(service) {
    return [
      { key: 'cpu', fn: 'rate', query: ns.request.selector(
        'namedprocess_namegroup_cpu_seconds_total',
        { groupname: service }) },
      { key: 'idle', fn: 'rate', query: ns.request.selector(
        'node_cpu_seconds_total', { mode: /idle|iowait/ }) }
    ];
  }

  /* Busy CPUs of the host: those that were neither idle nor waiting. */
  function hostBusy(idle) {
    const cpus = new Set(idle.map((c) => c.labels.cpu)).size;
    if (cpus === 0)
      return { busy: null, cpus: 0 };
    const sum = S.sum(idle);
    return { cpus, busy: Object.assign({}, sum, {
      v: sum.v.map((v) => (v === null ? null : Math.max(0, cpus - v))) }) };
  }

  function modeOf(cols, mode) {
    const list = S.by(cols, 'mode').get(mode);
    return list ? S.sum(list) : null;
  }

  function create(root) {
    const cores = ns.dom.h('span', { class: 'card-aside' });
    const line = ns.card.chart({ title: 'CPU usage', height: 240, sync: 'cpu',
      format: ns.format.percent, least: 0.02,
      onSelect: (range) => ns.view.select(range),
      series: [
        { label: 'total', colour: '--series-1', fill: true, width: 2 },
        { label: 'user', colour: '--series-3', hidden: true },
        { label: 'system', colour: '--series-2' },
        { label: 'host, all processes', colour: '--series-mute',
          dash: [5, 4] }
      ],
      info: ['Percent of one CPU: a service with four busy threads shows ' +
        '400 %.', 'Drag over the line to choose a range; the flame graph ' +
        'follows. With the keyboard: + and − zoom, ← and → move.',
      'The dashed line is everything that ran on this host, in the same ' +
        'unit.'] }, cores);
    const flame = ns.flameView.create();
    root.append(ns.dom.h('h2', { class: 'visually-hidden', text: 'CPU' }),
      line.node, flame.node);

    async function lines(ctx) {
      const r = await ns.api.series(queries(ctx.service), ctx.range, ctx.step,
        ctx.signal);
      const host = hostBusy(r.idle.cols);
      cores.textContent = 'of one CPU' + (host.cpus
        ? ' · ' + host.cpus + ' CPUs = ' + host.cpus * 100 + ' %' : '');
      const total = r.cpu.cols.length ? S.sum(r.cpu.cols) : null;
      line.show(ctx.range, [total, modeOf(r.cpu.cols, 'user'),
        modeOf(r.cpu.cols, 'system'), host.busy], [r.cpu]);
    }

    async function profile(ctx) {
      const params = { query: ns.request.selector('cpu',
        ctx.service ? { service: ctx.service } : {}),
      from: ctx.range.from, until: ctx.range.until, 'max-nodes': 8192 };
      try {
        const answer = await ns.api.get('flamegraph.json', params,
          { signal: ctx.signal });
        flame.show(answer, Object.assign({}, ctx, { params }));
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        flame.fail(e.message);
      }
    }

    return {
      refresh: (ctx) => Promise.all([lines(ctx), profile(ctx)]),
      arrange: (state) => flame.arrange(state),
      search: flame.search,
      keys: ['service', 'from', 'until'],
      local: ['search', 'view', 'grow', 'sort', 'fn']
    };
  }

  ns.cpuTab = { create, queries, hostBusy };
})(globalThis.MemLens = globalThis.MemLens || {});
