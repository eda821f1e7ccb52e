/*
 * The disks, in the units that they have: utilisation as a part of the time,
 * bytes and requests per second, and the mean wait of a request, which is no
 * data, not 0, where there was no request.
 */
(function (ns) {
  'use strict';

  const F = ns.format, S = ns.series;
  const PREFIX = 'node_disk_';
  const METRICS = { busy: 'io_time_seconds_total',
    readBytes: 'read_bytes_total', writeBytes: 'written_bytes_total',
    reads: 'reads_completed_total', writes: 'writes_completed_total',
    readTime: 'read_time_seconds_total',
    writeTime: 'write_time_seconds_total' };
  const READ = { label: 'read', colour: '--series-1' };
  const WRITE = { label: 'write', colour: '--series-2' };

  function queries() {
    return Object.entries(METRICS).map(([key, name]) =>
      ({ key: 'disk.' + key, query: PREFIX + name, fn: 'rate' }));
  }

  const CHARTS = [
    { title: 'Utilisation', format: F.percent, least: 0.05,
      series: [{ label: 'busy', colour: '--series-3', fill: true }],
      needs: ['busy'], cols: (d) => [d.busy],
      info: ['The part of the time in which at least one request was under ' +
        'way.', 'A disk that serves one request at a time is saturated near ' +
        '100 %. SSDs and RAIDs serve many at once and may have room left.'] },
    { title: 'Throughput', format: F.byteRate, least: 1024,
      series: [{ ...READ }, { ...WRITE }],
      needs: ['readBytes', 'writeBytes'],
      cols: (d) => [d.readBytes, d.writeBytes],
      info: 'Bytes per second read from and written to the device.' },
    { title: 'Requests', format: F.perSecond, least: 1,
      series: [{ ...READ }, { ...WRITE }], needs: ['reads', 'writes'],
      cols: (d) => [d.reads, d.writes],
      info: 'Requests completed per second (IOPS), after neighbouring ones ' +
        'were merged.' },
    { title: 'Average wait', format: F.seconds, least: 0.0001,
      series: [{ ...READ }, { ...WRITE }],
      needs: ['readTime', 'writeTime'],
      cols: (d) => [
        d.readTime && d.reads && S.ratio(d.readTime, d.reads),
        d.writeTime && d.writes && S.ratio(d.writeTime, d.writes)],
      info: ['The mean time from handing a request over to its completion, ' +
        'queueing included.', 'Where no request was made there is no mean, ' +
        'and the line has a gap.'] }
  ];

  function devices(r) {
    const seen = new Map();
    for (const [device, cols] of S.by(r['disk.busy'].cols, 'device')) {
      const e = S.extent(S.sum(cols));
      seen.set(device, e ? e.mean : 0);
    }
    return [...seen].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  }

  function create(onSelect) {
    const picker = ns.card.picker('Device', (device) =>
      ns.view.set({ device }));
    const cards = makeCards(onSelect);
    const node = ns.dom.h('section', { class: 'section', 'aria-label':
      'Disk' }, ns.card.section('Disk', ns.dom.h('span', { class: 'spacer' }),
      picker.node), ns.dom.h('div', { class: 'chart-grid' },
      cards.map((c) => c.card.node)));

    function show(r, ctx) {
      const list = devices(r);
      const device = list.includes(ctx.state.device)
        ? ctx.state.device : list[0] || '';
      picker.set(list.length ? list.map((d) => [d, d]) : [['', 'none']],
        device);
      const d = {};
      for (const key of Object.keys(METRICS)) {
        const cols = S.by(r['disk.' + key].cols, 'device').get(device);
        d[key] = cols ? S.sum(cols) : null;
      }
      for (const { spec, card } of cards)
        card.show(ctx.range, spec.cols(d),
          spec.needs.map((k) => r['disk.' + k]));
    }
    return { node, queries, show };
  }

  function makeCards(onSelect) {
    return CHARTS.map((spec) => ({ spec, card: ns.card.chart(Object.assign(
      {}, spec, { sync: 'memory', height: 170, onSelect,
        series: spec.series.map((s) => ({ ...s })) })) }));
  }

  ns.disk = { create, queries, devices };
})(globalThis.MemLens = globalThis.MemLens || {});
