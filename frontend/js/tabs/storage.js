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
    const one = (name, more, fn) =>
      ({ query: ns.request.selector('memlens_instance_' + name,
        Object.assign({ service }, more)), fn });
    return Object.entries({
      rssOne: one('memory_bytes', { memtype: 'resident' }),
      readOne: one('read_bytes_total', {}, 'rate'),
      writeOne: one('write_bytes_total', {}, 'rate'),
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
    }).map(([key, q]) => Object.assign({ key }, q))
      .concat(ns.folders.queries(service));
  }

  /* Stand for names of instances: all added, and what each card has. */
  const SUM = '+', EACH = '*';
  const ENGINE = ['up', 'hit', 'memory', 'files', 'size',
    'compaction', 'levelRead', 'levelWrite'];
  const PROCESS = { rss: 'rssOne', read: 'readOne', write: 'writeOne' };

  const name = (c) => c.labels.instance;

  const named = (r, keys) => [...new Set(keys.flatMap((k) =>
    r[k] ? r[k].cols.map(name) : []).filter((n) => n !== undefined))];

  /*
   * {name of an instance of the processes: name of the engine's}: ":18501" is
   * "10.0.0.1:18501"; one engine and one process that listens are one, though
   * the statistics have a port of their own.
   */
  function pairs(r) {
    const engines = named(r, ENGINE);
    const found = new Map(), listen = [];
    for (const p of named(r, Object.values(PROCESS))) {
      const e = engines.find((x) => x === p || (p[0] === ':' &&
        x.endsWith(p)));
      found.set(p, e || p);
      if (!e && p[0] === ':')
        listen.push(p);
    }
    const free = engines.filter((e) => ![...found.values()].includes(e));
    if (free.length === 1 && listen.length === 1)
      found.set(listen[0], free[0]);
    return found;
  }

  /* The instances of the service, those with an engine first. */
  const instances = (r) => [...new Set([...named(r, ENGINE),
    ...pairs(r).values()])];

  const measured = (a) => !!a && a.cols.some((c) => S.last(c) !== null);

  /* Has the instance whatever is measured of any? */
  function whole(r, which) {
    const mine = only(r, which), has = (of) => (key) => measured(of[key]);
    return (!ENGINE.some(has(r)) || ENGINE.some(has(mine))) &&
      Object.entries(PROCESS).every(([group, key]) => !measured(r[key]) ||
        measured(mine[group]));
  }

  /*
   * Which one is shown: the chosen one, else the first that has whatever is
   * measured.  Where an engine and processes cannot be told to be one there
   * is none: then the engine's cards have the first engine, and those of
   * processes the sum of all.  A sum of engines is chosen.
   */
  function chosen(r, wanted) {
    const list = instances(r);
    return list.length < 2 ? '' : wanted === SUM || list.includes(wanted)
      ? wanted : list.find((name) => whole(r, name)) || EACH;
  }

  /* The engine that EACH shows, or undefined. */
  const firstEngine = (r) => named(Object.fromEntries(ENGINE.map((key) =>
    [key, Object.assign({}, r[key], { cols: r[key].cols.filter((c) =>
      S.last(c) !== null) })])), ENGINE)[0];

  /* How many processes a sum has. */
  const processes = (r) => new Set(Object.values(PROCESS).flatMap((key) =>
    r[key].cols.filter((c) => S.last(c) !== null).map(name))).size;

  /* Whose a card's number is, in words; '' where there is one instance. */
  function whose(r, which, needs) {
    const n = processes(r);
    return which === SUM ? 'sum' : which !== EACH ? which
      : !needs.every((key) => PROCESS[key]) ? firstEngine(r) || ''
        : n > 1 ? 'sum of ' + n + ' processes' : '';
  }

  /* The answers of one instance; of all, where the sum was chosen. */
  function only(r, which) {
    if (which === '' || which === SUM)
      return r;
    const found = pairs(r), each = which === EACH;
    const keep = (a, one) => Object.assign({}, a, { cols: a.cols.filter((c) =>
      (found.get(name(c)) || name(c)) === one) });
    const out = Object.assign({}, r), engine = each ? firstEngine(r) : which;
    for (const key of ENGINE)
      out[key] = each && engine === undefined ? r[key] : keep(r[key], engine);
    for (const [group, key] of Object.entries(PROCESS))
      if (!each)
        out[group] = keep(r[key], which);
    return out;
  }

  const summed = (...keys) => (r) => S.sum(keys.flatMap((k) => r[k].cols));

  /* title, format, the results it needs, column of them, note, info */
  const CARDS = [
    { title: 'Record cache hits', format: F.percent,
      needs: ['hit'], meter: true, alone: true,
      col: (r) => r.hit.cols[0],
      note: (col) => {
        const e = S.extent(col);
        return 'in this range ' + F.percent(e.min) + ' to ' +
          F.percent(e.max) + ', all since start';
      },
      info: ['Of all reads since the service started, the part that its own ' +
        'cache of records (an LRU in front of LevelDB) answered. LevelDB’s ' +
        'block cache is another, and the service says nothing of it.',
      'Numerator and denominator are not told, so no ratio of the shown ' +
        'range can be made: a change now hardly moves it.'] },
    { title: 'Size on disk', format: (v) => F.count(v / 2 ** 20) + ' MiB', needs: ['size'], floor: 0,
      col: summed('size'),
      note: (col, r) => F.count(S.last(S.sum(r.files.cols))) +
        ' table files in ' + S.by(r.size.cols, 'level').size +
        ' levels; ± ' + F.bytes(r.size.cols.length * 2 ** 19) +
        ', told in whole MiB a level',
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
      note: (col, r) => F.bytes(S.total(col) * r.write.step) +
        ' in this range',
      info: 'Bytes per second that the service sent towards storage: its ' +
        'log, memtable flushes and compactions.' }
  ];

  /* {text, level} of the statistics interface, from leveldb_up. */
  function upness(up, all) {
    const last = up.cols.slice(0, all ? undefined : 1).map(S.last)
      .filter((x) => x !== null);
    const v = last.length ? Math.min(...last) : null;
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
    const which = ns.card.picker('Instance', (instance) =>
      ns.view.set({ instance }));
    const cards = CARDS.map((spec) => ({ spec, card: ns.card.stat(spec) }));
    const table = levelTable(), folders = ns.folders.create();
    const hint = h('p', { class: 'hint', hidden: true });
    const grid = h('div', { class: 'stat-grid' },
      cards.map((c) => c.card.node));
    const node = h('section', { class: 'section', 'aria-label':
      'Storage engine' }, ns.card.section('Storage engine', badge,
      h('span', { class: 'spacer' }), which.node), hint,
    grid, table.node, folders.node);

    /* An engine is one service's: the whole host has none. */
    function show(all, ctx) {
      const list = instances(all);
      const one = chosen(all, ctx.state.instance);
      const r = only(all, one);
      which.node.hidden = one === '';
      const each = chosen(all, '') === EACH;
      which.set([...each ? [[EACH, 'by card']] : [],
        ...list.map((i) => [i, i]), [SUM, 'sum of ' + list.length]], one);
      const up = upness(r.up, one === SUM), none = ctx.state.service === ns.services.ALL;
      grid.hidden = badge.hidden = table.node.hidden = none;
      hint.hidden = !none;
      ns.dom.say(hint, 'Choose a service above to see its storage engine.');
      folders.show(all, ctx);
      if (!none)
        fill(r, ctx, up, one, all);
    }

    function fill(r, ctx, up, one, all) {
      const engine = whose(all, one, ENGINE);
      const of = engine === '' ? ctx.service : one === SUM
        ? 'some instance of ' + ctx.service : engine + ' of ' + ctx.service;
      badge.textContent = up.text;
      badge.dataset.level = up.level;
      hint.hidden = up.level !== 'down';
      ns.dom.say(hint, 'The statistics interface of ' + of +
        ' does not answer: what is shown below is the last that it said.');
      for (const { spec, card } of cards) {
        const needs = spec.needs.map((k) => r[k]);
        const add = !(spec.alone && one === SUM);
        const col = add ? spec.col(r) || { t: [], v: [] } : { t: [], v: [] };
        const v = S.last(col);
        const text = [whose(all, one, spec.needs), v !== null
          ? spec.note(col, r) : spec.needs.some((k) => measured(all[k]))
            && add && 'other instances have it'].filter(Boolean);
        card.show(v, col, v !== null || text.length > 1 ? text.join(' · ')
          : '', add ? needs : [{ state: 'does not add up', error: null }]);
      }
      table.show(r);
    }
    return { node, queries, show };
  }

  ns.storage = { create, queries, levels, instances, chosen, only, whose, SUM,
    EACH };
})(globalThis.MemLens = globalThis.MemLens || {});
