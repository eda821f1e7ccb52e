/*
 * What is said about one frame: the tooltip at the pointer, the line under
 * the graph, and the menu of a right click.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;

  const KIND_TEXT = { user: 'program', library: 'library', kernel: 'kernel',
    jit: 'JIT code', unknown: 'unknown' };

  /* Rows [label, text] about frame i. */
  function facts(f, i, zoom, unit) {
    if (unit.facts)
      return unit.facts(f, i);
    const share = (v, of) => (of ? ns.format.percent(v / of) : '–');
    const rows = [
      ['Total', unit.text(f.total[i]) + ' · ' + share(f.total[i], f.ticks)],
      ['Self', unit.text(f.self[i]) + ' · ' + share(f.self[i], f.ticks)]];
    if (unit.states) {
      const off = f.totalUnknown ? f.totalUnknown[i] : 0;
      rows.push(['On CPU', unit.text(f.total[i] - off)],
        ['Off CPU', unit.text(off)]);
    }
    const samples = ns.flameFacts.frameCount(unit, f, i);
    if (samples !== null)
      rows.push([unit.states ? 'Samples on CPU' : 'Samples', samples]);
    if (zoom > 0 && f.level[i] >= f.level[zoom])
      rows.push(['Of the zoomed', share(f.total[i], f.total[zoom])]);
    if (f.parent[i] > 0)
      rows.push(['Of its caller', share(f.total[i], f.total[f.parent[i]])]);
    const kind = f.kinds[f.name[i]];
    rows.push(['Kind', KIND_TEXT[kind] || 'unknown']);
    const place = unit.place && unit.place(f.names[f.name[i]], kind);
    if (place)
      rows.push(['Source', place]);
    return rows;
  }

  function sentence(f, i, zoom, unit) {
    return f.names[f.name[i]] + ' – ' + facts(f, i, zoom, unit)
      .map(([k, v]) => k + ' ' + v).join(', ');
  }

  function tooltip() {
    const node = h('div', { class: 'tip', role: 'tooltip', hidden: true });
    document.body.append(node);

    function move(e) {
      const box = node.getBoundingClientRect();
      const w = document.documentElement.clientWidth;
      const left = e.clientX + 16 + box.width > w
        ? e.clientX - box.width - 12 : e.clientX + 16;
      const top = e.clientY + 18 + box.height > innerHeight
        ? e.clientY - box.height - 12 : e.clientY + 18;
      Object.assign(node.style, { left: Math.max(4, left) + 'px',
        top: Math.max(4, top) + 'px' });
    }
    return {
      show(f, i, zoom, unit, e) {
        node.replaceChildren(
          h('p', { class: 'tip-name', text: f.names[f.name[i]] }),
          h('dl', { class: 'tip-facts' }, facts(f, i, zoom, unit)
            .map(([k, v]) => [h('dt', { text: k }), h('dd', { text: v })])),
          h('p', { class: 'tip-hint',
            text: 'Click to zoom, right click for more' }));
        node.hidden = false;
        move(e);
      },
      hide() {
        node.hidden = true;
      } };
  }

  /* items: [[label, action]]; at: a rectangle to open beside. */
  function menu(items, at) {
    const before = document.activeElement;
    const node = h('div', { class: 'popover menu', popover: 'auto',
      role: 'menu' }, items.map(([label, act]) => h('button', {
      type: 'button', role: 'menuitem', class: 'menu-item', text: label,
      onclick: () => {
        node.hidePopover();
        act();
      } })));
    node.addEventListener('keydown', (e) => {
      const way = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (!way)
        return;
      e.preventDefault();
      const list = [...node.children];
      const k = list.indexOf(document.activeElement);
      list[(k + way + list.length) % list.length].focus();
    });
    node.addEventListener('toggle', (e) => {
      if (e.newState === 'closed') {
        node.remove();
        if (before)
          before.focus({ preventScroll: true });
      }
    });
    document.body.append(node);
    node.showPopover();
    ns.dom.place(node, { getBoundingClientRect: () => at });
    node.firstElementChild.focus();
  }

  ns.flameTip = { tooltip, menu, sentence };
})(globalThis.MemLens = globalThis.MemLens || {});
