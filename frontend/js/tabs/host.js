/*
 * The host around the database: memory, load, network, context switches.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, S = ns.series;

  function queries() {
    return [
      { key: 'host.available', query: 'node_memory_MemAvailable_bytes' },
      { key: 'host.total', query: 'node_memory_MemTotal_bytes' },
      { key: 'host.load', query: 'node_load1' },
      { key: 'host.rx', query: 'node_network_receive_bytes_total',
        fn: 'rate' },
      { key: 'host.tx', query: 'node_network_transmit_bytes_total',
        fn: 'rate' },
      { key: 'host.switches', query: 'node_context_switches_total',
        fn: 'rate' }
    ];
  }

  const CHARTS = [
    { title: 'Memory', format: F.bytes, least: 1024,
      series: [{ label: 'used', colour: '--series-4', fill: true },
        { label: 'total', colour: '--series-mute', dash: [4, 4] }],
      needs: ['available', 'total'],
      cols: (d) => [d.total && d.available &&
        S.sum([d.total, S.scale(d.available, -1)]), d.total],
      info: 'Used is total minus what the kernel says programs could still ' +
        'get without swapping (MemAvailable). Page cache counts as ' +
        'available.' },
    { title: 'Network', format: F.byteRate, least: 1024, device: true,
      series: [{ label: 'received', colour: '--series-1' },
        { label: 'sent', colour: '--series-2' }],
      needs: ['rx', 'tx'], cols: (d) => [d.rx, d.tx],
      info: 'Bytes per second through the chosen interface.' },
    { title: 'Load', format: F.compact, least: 1,
      series: [{ label: '1 minute', colour: '--series-3' }],
      needs: ['load'], cols: (d) => [d.load],
      info: 'Tasks that run, wait for a CPU or wait for a disk, smoothed ' +
        'over about a minute. Compare with the number of CPUs.' },
    { title: 'Context switches', format: F.perSecond, least: 10,
      series: [{ label: 'host', colour: '--series-5' }],
      needs: ['switches'], cols: (d) => [d.switches],
      info: 'How often per second a CPU turned from one task to another. A ' +
        'jump often means lock contention or many small wake-ups.' }
  ];

  /* Interfaces by traffic, the loopback last. */
  function interfaces(r) {
    const traffic = (cols) => {
      const e = S.extent(S.sum(cols));
      return e ? e.mean : 0;
    };
    return [...S.by(r['host.rx'].cols, 'device')]
      .sort((a, b) => (a[0] === 'lo') - (b[0] === 'lo') ||
        traffic(b[1]) - traffic(a[1])).map(([name]) => name);
  }

  function create(onSelect) {
    const picker = ns.card.picker('Interface', (net) => ns.view.set({ net }));
    picker.node.classList.add('field-small');
    const cards = CHARTS.map((spec) => ({ spec, card: ns.card.chart(
      Object.assign({}, spec, { sync: 'memory', height: 140, onSelect,
        series: spec.series.map((s) => ({ ...s })) }),
      spec.device && picker.node) }));
    const node = h('section', { class: 'section', 'aria-label': 'Host' },
      ns.card.section('Host'), h('div', { class: 'chart-grid' },
        cards.map((c) => c.card.node)));

    function show(r, ctx) {
      const list = interfaces(r);
      const net = list.includes(ctx.state.net) ? ctx.state.net : list[0] || '';
      picker.set(list.length ? list.map((d) => [d, d]) : [['', 'none']], net);
      const d = {};
      for (const key of ['available', 'total', 'load', 'switches']) {
        const cols = r['host.' + key].cols;
        d[key] = cols.length ? S.sum(cols) : null;
      }
      for (const key of ['rx', 'tx']) {
        const cols = S.by(r['host.' + key].cols, 'device').get(net);
        d[key] = cols ? S.sum(cols) : null;
      }
      for (const { spec, card } of cards)
        card.show(ctx.range, spec.cols(d),
          spec.needs.map((k) => r['host.' + k]));
    }
    return { node, queries, show };
  }

  ns.host = { create, queries };
})(globalThis.MemLens = globalThis.MemLens || {});
