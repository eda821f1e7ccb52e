/*
 * Taking a profile away: SVG from the server, JSON, folded text and a
 * picture from the page.  Nothing is sent anywhere.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;

  function stem(view) {
    const at = view.ctx ? ns.format.dateTime(view.ctx.range.from) : '';
    return ['memlens', (view.ctx && view.ctx.service) || 'cpu',
      at.replace(' ', 'T').replace(/:/g, '')].join('-')
      .replace(/[^\w.-]+/g, '_');
  }

  function items(view) {
    const name = stem(view);
    const save = (ext, type, content) => ns.dom.download(name + ext, type,
      content());
    return [
      ['JSON (flamebearer)', !view.answer, () => save('.json',
        'application/json', () => JSON.stringify(view.answer))],
      ['Folded stacks', !view.answer, () => save('.folded', 'text/plain',
        () => ns.flameTree.folded(view.f))],
      ['Table (CSV)', !view.answer, () => save('.csv', 'text/csv',
        () => csv(view.f))],
      ['Picture of the view (PNG)', !view.answer || view.pane.hidden, () =>
        view.main.canvas.toBlob((blob) =>
          ns.dom.download(name + '.png', 'image/png', blob))]
    ];
  }

  function csv(f) {
    const quote = (s) => '"' + s.replace(/"/g, '""') + '"';
    return 'function,kind,self,total\n' + ns.flameTree.functions(f)
      .sort((a, b) => b.self - a.self)
      .map((r) => [quote(r.name), r.kind, r.self, r.total].join(',') + '\n')
      .join('');
  }

  function fill(pop, view) {
    const live = ns.mode.current === 'live' && view.ctx;
    pop.replaceChildren(
      live ? h('a', { class: 'menu-item', target: '_blank', rel: 'noopener',
        href: ns.request.path('flamegraph.svg', view.ctx.params),
        text: 'SVG' })
        : h('button', { type: 'button', class: 'menu-item', disabled: true,
          text: 'SVG (needs Live)' }),
      ...items(view).map(([label, off, act]) => h('button', {
        type: 'button', class: 'menu-item', text: label, disabled: off,
        onclick: () => {
          pop.hidePopover();
          act();
        } })));
  }

  ns.flameExport = { fill, csv };
})(globalThis.MemLens = globalThis.MemLens || {});
