/*
 * What the files of a service take on disks, data and logs apart, by folder,
 * and how much they have grown in the range: a log beside a small database is
 * seen here.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, S = ns.series;
  const KINDS = ['data', 'log'];
  const HEADS = ['Data', 'grew', 'Logs', 'grew'];

  const queries = (service) => [{ key: 'folders', fn: 'last', query:
    ns.request.selector('memlens_service_files_bytes', { service }) },
  { key: 'foldersLeft', fn: 'last', query: ns.request.selector(
    'memlens_service_folders', { service, state: 'left out' }) }];

  const first = (col) => {
    const v = col.v.find((x) => x !== null);
    return v === undefined ? null : v;
  };

  /* {last, grew} of columns that add up; null where nothing was measured. */
  function amount(cols) {
    const known = cols.filter((c) => S.last(c) !== null);
    if (!known.length)
      return { last: null, grew: null };
    const sum = (f) => known.reduce((all, c) => all + f(c), 0);
    return { last: sum(S.last), grew: sum((c) => S.last(c) - first(c)) };
  }

  /* A row each folder that has something, what is largest first: {folder, data,
   * log}.  Pure. */
  function rows(cols) {
    return [...S.by(cols, 'folder')].map(([folder, list]) =>
      Object.assign({ folder }, Object.fromEntries(KINDS.map((kind) =>
        [kind, amount(list.filter((c) => c.labels.kind === kind))]))))
      .filter((r) => size(r) > 0)
      .sort((a, b) => size(b) - size(a) || (a.folder < b.folder ? -1 : 1));
  }

  const size = (r) => (r.data.last || 0) + (r.log.last || 0);

  /* What is to be said of all of them; pure. */
  function words(list, left) {
    const sum = (kind) => list.reduce((all, r) => all + (r[kind].last || 0), 0);
    const data = sum('data'), log = sum('log');
    const grew = list.reduce((all, r) => all + (r.log.grew || 0), 0);
    return 'Logs take ' + F.bytes(log) + ' beside ' + F.bytes(data) +
      ' of data' + (data > 0 && log >= 2 * data ? ', ' +
      F.compact(log / data) + ' times as much' : '') + '; they grew by ' +
      F.bytes(Math.max(0, grew)) + ' in this range.' + (left > 0 ? ' ' +
      F.count(left) + ' more folders were not read.' : '');
  }

  function cells({ last, grew }) {
    const sign = grew > 0 ? '+' : grew < 0 ? '−' : '';
    return [h('td', { class: 'num' + (last === null ? ' absent' : ''),
      text: F.bytes(last) }), h('td', { class: 'num muted',
      text: grew === null ? '' : sign + F.bytes(Math.abs(grew)) })];
  }

  function create() {
    const body = h('tbody');
    const said = h('p', { class: 'compare-words' });
    const node = h('article', { class: 'card level-card folders-card',
      hidden: true }, h('header', { class: 'card-head' },
      h('h3', { class: 'card-title', text: 'Files' }),
      ns.dom.infoButton('Files', ['What the files in the folders take on the ' +
        'disk into which programs of this service write, once a minute. Logs ' +
        'are told by their names (*.log, LOG, *.INFO…); LevelDB’s own ' +
        'journal, 000012.log, is data.', 'Grew: between the first and the ' +
        'last moment of the range.'])), said,
    h('div', { class: 'table-scroll', tabindex: '0', role: 'region',
      'aria-label': 'Files' }, h('table', { class: 'data-table' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col', text: 'Folder' }),
        HEADS.map((text) => h('th', { scope: 'col', class: 'num', text })))),
      body)));

    function show(r, { service }) {
      const list = service ? rows(r.folders.cols) : [];
      node.hidden = list.length === 0;
      if (!list.length)
        return;
      ns.dom.say(said, words(list, S.last(S.sum(r.foldersLeft.cols))));
      body.replaceChildren(...list.map((row) => h('tr', {},
        h('th', { scope: 'row', class: 'folder-name', text: row.folder }),
        cells(row.data), cells(row.log))));
    }
    return { node, show };
  }

  ns.folders = { create, queries, rows, words };
})(globalThis.MemLens = globalThis.MemLens || {});
