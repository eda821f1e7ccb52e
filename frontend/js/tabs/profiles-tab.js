/*
 * Tab "Profiles": CPU usage, the states of threads and latencies above, a
 * profile of the same range below.  A brush on a line changes the range of all.
 */
(function (ns) {
  'use strict';

  const S = ns.series;

  /* Without a service, what the whole host does. */
  function queries(service, instance = '') {
    return [
      { key: 'cpu', fn: 'rate', query: instance ? ns.request.selector(
        'memlens_instance_cpu_seconds_total', { service, instance })
        : service ? ns.request.selector(
        'namedprocess_namegroup_cpu_seconds_total', { groupname: service })
        : ns.request.selector('node_cpu_seconds_total',
          { mode: /user|nice|system|irq|softirq|steal/ }) },
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

  /*
   * What burns CPU as columns: all of it, user, system, nice, and the rest
   * (interrupts and what the hypervisor took), that add up; null where there
   * is none.  A service is measured by user and system alone.  Pure.
   */
  function parts(cols) {
    const rest = cols.filter((c) =>
      !['user', 'system', 'nice'].includes(c.labels.mode));
    return [cols.length ? S.sum(cols) : null, modeOf(cols, 'user'),
      modeOf(cols, 'system'), modeOf(cols, 'nice'),
      rest.length ? S.sum(rest) : null];
  }

  const measured = (cols) => cols.some((c) => c.v.some((v) => v !== null));

  function create(root) {
    const cores = ns.dom.h('span', { class: 'card-aside' });
    const line = ns.card.chart({ title: 'CPU usage', height: 240, sync: 'cpu',
      format: ns.format.percent, least: 0.02,
      onSelect: (range) => ns.view.select(range),
      series: [
        { label: 'total', colour: '--series-1', fill: true, width: 2 },
        { label: 'user', colour: '--series-3', hidden: true },
        { label: 'system', colour: '--series-2' },
        { label: 'nice', colour: '--series-4', optional: true },
        { label: 'interrupts, steal', colour: '--series-5', optional: true },
        /* A busy host would press the service's line flat: its number
         * stands in the legend, its line is a click away. */
        { label: 'host, all processes', colour: '--series-mute',
          dash: [5, 4], hidden: true, optional: true }
      ],
      info: ['Percent of one CPU: a service with four busy threads shows ' +
        '400 %.', 'Drag over the line to choose a range; the flame graph ' +
        'follows. With the keyboard: + and − zoom, ← and → move.',
      'The host is everything that ran on it, in the same unit; click its ' +
        'name to draw its line. The total of the host is user, system, ' +
        'nice (of lower priority), interrupts (irq, softirq) and what a ' +
        'hypervisor gave to others (steal); idle and waiting for disks are ' +
        'not in it.'] }, cores);
    const card = ns.profileCard.create();
    const threads = ns.threads.create();
    const latency = ns.latency.create();
    root.append(ns.dom.h('h2', { class: 'visually-hidden',
      text: 'Profiles' }), ns.dom.h('div', { class: 'profile-lines' }, line.node,
      threads.node), threads.hint, latency.node, card.node);

    async function lines(ctx) {
      const r = await ns.api.series(queries(ctx.service, ctx.service
        ? ns.runs.instance(ctx.state) : ''), ctx.range, ctx.step, ctx.signal);
      const host = hostBusy(r.idle.cols);
      /* What was pushed from elsewhere has a profile, but no line. */
      const absent = host.cpus && ctx.service && !measured(r.cpu.cols);
      ns.dom.say(cores, (absent ? 'no process of ' + ctx.service +
        ' was measured in this range · ' : '') + 'of one CPU' + (host.cpus
        ? ' · ' + host.cpus + ' CPUs = ' + host.cpus * 100 + ' %' : ''));
      line.show(ctx.range, [...parts(r.cpu.cols),
        ctx.service ? host.busy : null], [r.cpu]);
    }

    return {
      refresh: (ctx) => Promise.all([lines(ctx), threads.refresh(ctx),
        latency.refresh(ctx), card.refresh(ctx)]),
      arrange: card.arrange,
      land: card.land,
      search: card.search
    };
  }

  ns.profilesTab = { create, queries, hostBusy, parts };
})(globalThis.MemLens = globalThis.MemLens || {});
