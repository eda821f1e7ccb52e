/*
 * The storage engine of the chosen service: LevelDB's own statistics, and
 * what its process takes from the host.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, S = ns.series;

  function queries(service) {
    const level = (name, fn) =>
      ({ query: ns.request.selector('leveldb_' + name, { service }), fn });
    const group = (name, more, fn) =>
      ({ query: ns.request.selector('namedprocess_namegroup_' + name,
        Object.assign({ groupname: service }, more)), fn });
    return Object.entries({
      up: level('up', 'last'),
      hit: level('cache_hit_ratio'),
      memory: level('approximate_memory_bytes'),
      files: level('level_files', 'last'),
      size: level('level_size_bytes', 'last'),
      compaction: level('level_compaction_seconds_total', 'increase'),
      levelRead: level('level_read_bytes_total', 'increase'),
      levelWrite: level('level_write_bytes_total', 'increase'),
      rss: group('memory_bytes', { memtype: 'resident' }),
      read: group('read_bytes_total', {}, 'rate'),
      write: group('write_bytes_total', {}, 'rate')
    }).map(([key, q]) => Object.assign({ key }, q));
  }

  const summed = (...keys) => (r) => S.sum(keys.flatMap((k) => r[k].cols));

  /* title, format, the results it needs, column of them, note, info */
  const CARDS = [
    { title: 'Cache hit ratio', format: F.percent, needs: ['hit'],
      meter: true, col: summed('hit'),
      note: (col) => {
        const e = S.extent(col);
        return 'mean ' + F.percent(e.mean) + ', lowest ' + F.percent(e.min);
      },
      info: ['Of the reads that LevelDB could answer from its cache, the ' +
        'part that it did. A read that misses costs a block read from disk ' +
        'or from the page cache, a checksum and a decompression.',
      'It is a ratio over the life of the cache as the service reports it, ' +
        'so it moves slowly.'] },
    { title: 'Size on disk', format: F.bytes, needs: ['size'], floor: 0,
      col: summed('size'),
      note: (col, r) => F.count(S.last(S.sum(r.files.cols))) +
        ' table files in ' + r.size.cols.length + ' levels',
      info: 'The sum of the table files of all levels. The write-ahead log ' +
        'and files that wait to be deleted are not in it.' },
    { title: 'Engine memory', format: F.bytes, needs: ['memory'], floor: 0,
      col: summed('memory'), note: () => 'block cache and memtables',
      info: 'What LevelDB says it holds in memory: its block cache and its ' +
        'memtables. This is not the size of the database; that is "Size on ' +
        'disk".' },
    { title: 'Compaction', format: F.percent, needs: ['compaction'], floor: 0,
      col: (r) => S.scale(S.sum(r.compaction.cols), 1 / r.compaction.step),
      note: (col, r) => F.seconds(S.total(S.sum(r.compaction.cols))) +
        ' in this range',
      info: 'The part of the time in which a background thread was merging ' +
        'table files: 100 % is one thread, always busy. Compaction competes ' +
        'with reads and writes for CPU and disk.' },
    { title: 'Compaction traffic', format: F.byteRate, floor: 0,
      needs: ['levelRead', 'levelWrite'],
      col: (r) => S.scale(S.sum([...r.levelRead.cols, ...r.levelWrite.cols]),
        1 / r.levelWrite.step),
      note: (col, r) => F.bytes(S.total(S.sum(r.levelRead.cols))) +
        ' read, ' + F.bytes(S.total(S.sum(r.levelWrite.cols))) + ' written',
      info: 'Bytes per second that flushes and compactions read and wrote, ' +
        'over all levels: what the engine adds to the traffic of its ' +
        'clients. LevelDB counts in whole MiB.' },
    { title: 'Resident memory', format: F.bytes, needs: ['rss'], floor: 0,
      col: summed('rss'),
      note: (col) => 'highest ' + F.bytes(S.extent(col).max),
      info: 'Physical memory of the processes of this service (RSS), pages ' +
        'shared with others included.' },
    { title: 'Process reads', format: F.byteRate, needs: ['read'], floor: 0,
      col: summed('read'),
      note: (col, r) => F.bytes(S.total(col) * r.read.step) +
        ' in this range',
      info: 'Bytes per second that the service really fetched from storage. ' +
        'Reads answered by the page cache are not in it.' },
    { title: 'Process writes', format: F.byteRate, needs: ['write'], floor: 0,
      col: summed('write'),
      note: (col, r) => F.bytes(S.total(col) * r.read.step) +
        ' in this range',
      info: 'Bytes per second that the service sent towards storage: its ' +
        'log, memtable flushes and compactions.' }
  ];

  /* {text, level} of the statistics interface, from leveldb_up. */
  function upness(up) {
    const v = up.cols.length ? S.last(up.cols[0]) : null;
    if (v === null)
      return up.state === 'not attached'
        ? { text: 'not attached', level: 'none' }
        : { text: up.error ? up.error.message : 'no LevelDB statistics',
          level: 'none' };
    return v > 0 ? { text: 'answering', level: 'ok' }
      : { text: 'not answering', level: 'down' };
  }

  /* One row a level: what is there now, and what happened in the range. */
  function levels(r) {
    const groups = (key) => S.by(r[key].cols, 'level');
    const by = Object.fromEntries(['files', 'size', 'compaction',
      'levelRead', 'levelWrite'].map((k) => [k, groups(k)]));
    const names = [...new Set(Object.values(by)
      .flatMap((g) => [...g.keys()]))].sort((a, b) => a - b);
    const cell = (key, level, f) => {
      const cols = by[key].get(level);
      return cols ? f(S.sum(cols)) : null;
    };
    return names.map((level) => ({ level,
      files: cell('files', level, S.last), size: cell('size', level, S.last),
      compaction: cell('compaction', level, S.total),
      read: cell('levelRead', level, S.total),
      write: cell('levelWrite', level, S.total) }));
  }

  const COLUMNS = [['files', 'Files', F.count], ['size', 'Size', F.bytes],
    ['compaction', 'Compacting', F.seconds], ['read', 'Read', F.bytes],
    ['write', 'Written', F.bytes]];

  function plus(rows, key) {
    return S.total({ v: rows.map((x) => x[key]) });
  }

  function levelTable() {
    const body = h('tbody'), foot = h('tfoot');
    const node = h('article', { class: 'card level-card', hidden: true },
      h('header', { class: 'card-head' },
        h('h3', { class: 'card-title', text: 'Levels' }),
        ns.dom.infoButton('Levels', ['LevelDB keeps its data in levels. New ' +
          'tables arrive in level 0; compaction merges a level into the ' +
          'next, about ten times larger.',
        'Files and size are those of the newest moment of the range. ' +
          'Compacting, read and written are what compactions into that ' +
          'level did within the range.'])),
      h('div', { class: 'table-scroll', tabindex: '0', role: 'region',
        'aria-label': 'Levels' },
      h('table', { class: 'data-table' },
        h('thead', {}, h('tr', {}, h('th', { scope: 'col', text: 'Level' }),
          COLUMNS.map(([, title]) =>
            h('th', { scope: 'col', class: 'num', text: title })),
          h('th', { scope: 'col', class: 'bar-col' },
            h('span', { class: 'visually-hidden', text: 'Share of size' })))),
        body, foot)));

    function line(tag, name, row, share) {
      return h('tr', {}, h('th', { scope: 'row', text: name }),
        COLUMNS.map(([key, , format]) => h('td', { class: 'num' +
          (row[key] === null ? ' absent' : ''), text: format(row[key]) })),
        h('td', { class: 'bar-col' }, share !== null &&
          h('span', { class: share > 0 ? 'bar bar-some' : 'bar',
            style: { width: share * 100 + '%' } })));
    }

    function show(r) {
      const rows = levels(r);
      const all = Object.fromEntries(COLUMNS.map(([k]) => [k, plus(rows, k)]));
      body.replaceChildren(...rows.map((row) => line('td', row.level, row,
        all.size ? row.size / all.size : null)));
      foot.replaceChildren(line('td', 'All', all, null));
      node.hidden = rows.length === 0;
    }
    return { node, show };
  }

  function create() {
    const badge = h('span', { class: 'badge' });
    const cards = CARDS.map((spec) => ({ spec, card: ns.card.stat(spec) }));
    const table = levelTable();
    const hint = h('p', { class: 'hint', hidden: true });
    const grid = h('div', { class: 'stat-grid' },
      cards.map((c) => c.card.node));
    const node = h('section', { class: 'section', 'aria-label':
      'Storage engine' }, ns.card.section('Storage engine', badge), hint,
    grid, table.node);

    /* An engine is one service's: the whole host has none. */
    function show(r, ctx) {
      const up = upness(r.up), none = ctx.state.service === ns.services.ALL;
      grid.hidden = badge.hidden = table.node.hidden = none;
      hint.hidden = !none;
      hint.textContent = 'Choose a service above to see its storage engine.';
      if (!none)
        fill(r, ctx, up);
    }

    function fill(r, ctx, up) {
      badge.textContent = up.text;
      badge.dataset.level = up.level;
      hint.hidden = up.level !== 'down';
      hint.textContent = 'The statistics interface of ' + ctx.service +
        ' does not answer: what is shown below is the last that it said.';
      for (const { spec, card } of cards) {
        const needs = spec.needs.map((k) => r[k]);
        const col = spec.col(r);
        const v = S.last(col);
        card.show(v, col, v !== null && spec.note(col, r), needs);
      }
      table.show(r);
    }
    return { node, queries, show };
  }

  ns.storage = { create, queries, levels };
})(globalThis.MemLens = globalThis.MemLens || {});
