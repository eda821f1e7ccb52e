/*
 * Taking a profile away: every format that the server writes, and what the
 * page can make by itself while Offline.  Nothing is sent anywhere.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;

  /* label, route, end of the file's name where it is to be saved */
  const SINGLE = [
    ['Picture (SVG)', 'flamegraph.svg', ''],
    ['Picture (PNG)', 'flamegraph.png', ''],
    ['Page with table (HTML)', 'flamegraph.html', '.html'],
    ['pprof', 'flamegraph.pprof', '.pb.gz'],
    ['Folded stacks', 'flamegraph.folded', '.folded'],
    ['speedscope', 'flamegraph.speedscope.json', '.speedscope.json'],
    ['Flamebearer (JSON)', 'flamegraph.json', '.json'],
    ['Table (CSV)', 'table.csv', '.csv']];
  const PAIR = [
    ['Picture (SVG)', 'diff.svg', ''],
    ['Both trees and table (JSON)', 'diff.json', '.json']];

  function stem(view) {
    const at = view.ctx ? ns.format.dateTime(view.ctx.range.from) : '';
    const { service, type } = view.ctx || {};
    return ['memlens', service, type && type.name,
      at.replace(' ', 'T').replace(/:/g, '')].filter(Boolean).join('-')
      .replace(/[^\w.-]+/g, '_');
  }

  function csv(f) {
    /* a spreadsheet would compute what begins with = + - @ */
    const quote = (s) => '"' + s.replace(/^[=+\-@\t\r]/, "'$&")
      .replace(/"/g, '""') + '"';
    return 'function,kind,self,total\n' + ns.flameTree.functions(f)
      .sort((a, b) => b.self - a.self)
      .map((r) => [quote(r.name), r.kind, r.self, r.total].join(',') + '\n')
      .join('');
  }

  /* Lossless formats take the whole tree; pprof has filters of its own. */
  function paramsFor(route, params) {
    const out = Object.assign({}, params);
    if (!/svg|png|html|flamegraph\.json|diff/.test(route))
      delete out['max-nodes'];
    if (route.endsWith('pprof'))
      for (const key of [...ns.flameFilter.KEYS, 'idle'])
        delete out[key];
    return out;
  }

  function links(view, routes) {
    return routes.map(([label, route, ext]) => h('a', {
      class: 'menu-item', text: label,
      href: ns.request.path(route, paramsFor(route, view.ctx.params)),
      target: ext ? null : '_blank', rel: ext ? null : 'noopener',
      download: ext ? stem(view) + ext : null }));
  }

  /* What the page itself has: of a tree that is cut, no more than that. */
  function own(view, pop) {
    const cut = ns.flameTree.gathered(view.f) > 0;
    const name = stem(view);
    const save = (ext, type, content) => ns.dom.download(name + ext, type,
      content());
    return [
      ['Flamebearer (JSON)', () => save('.json', 'application/json',
        () => JSON.stringify(view.answer))],
      ['Folded stacks', () => save('.folded', 'text/plain',
        () => ns.flameTree.folded(view.f))],
      ['Table (CSV)', () => save('.csv', 'text/csv', () => csv(view.f))]
    ].map(([label, act], k) => h('button', { type: 'button',
      class: 'menu-item', text: label, disabled: !view.answer || cut && k > 0,
      onclick: () => {
        pop.hidePopover();
        act();
      } }));
  }

  /* The canvas that is shown, as it is. */
  function shot(view, pop) {
    const canvas = ns.view.get().view === 'compare'
      ? view.compare.canvas.canvas : view.main.canvas;
    return h('button', { type: 'button', class: 'menu-item',
      text: 'Picture of this view (PNG)',
      disabled: canvas.clientWidth === 0, onclick: () => {
        pop.hidePopover();
        canvas.toBlob((blob) => ns.dom.download(stem(view) + '.png',
          'image/png', blob));
      } });
  }

  function fill(pop, view) {
    const live = ns.mode.current === 'live' && view.ctx; /* links work */
    const compare = ns.view.get().view === 'compare';
    pop.replaceChildren(
      ...(live ? links(view, compare ? PAIR : SINGLE)
        : compare ? [] : own(view, pop)), shot(view, pop),
      ...(live ? [] : [h('p', { class: 'menu-note muted',
        text: ns.mode.current === 'lost' ? 'There is no connection.'
          : 'Live there are SVG, pprof, speedscope and more.' })]));
  }

  ns.flameExport = { fill, csv };
})(globalThis.MemLens = globalThis.MemLens || {});
