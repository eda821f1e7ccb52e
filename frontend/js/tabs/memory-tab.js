/*
 * Tab "Memory Tracker": playground, storage engine, operations, disks, host.  All series
 * of the tab are asked in one round and shown on one time axis.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;

  function create(root) {
    const onSelect = (range) => ns.view.select(range);
    const panels = [ns.storage.create(), ns.operations.create(onSelect),
      ns.disk.create(onSelect), ns.host.create(onSelect)];
    const play = h('section', { class: 'section', 'aria-label':
      'Playground' }, ns.card.section('Playground'),
    h('article', { class: 'card terminal-card' }, ns.terminal.create()));
    root.append(h('div', { class: 'memory-top' }, panels[0].node, play),
      ...panels.slice(1).map((p) => p.node));

    async function refresh(ctx) {
      const table = panels.flatMap((p) => p.queries(ctx.service, ctx));
      const results = await ns.api.series(table, ctx.range, ctx.step,
        ctx.signal);
      for (const p of panels)
        p.show(results, ctx);
    }
    return { refresh };
  }

  ns.memoryTab = { create };
})(globalThis.MemLens = globalThis.MemLens || {});
