/*
 * The bar under the header: which service, which time, and the way back from
 * zoomed ranges.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;

  function custom(button) {
    const from = h('input', { type: 'datetime-local', step: '1',
      'aria-label': 'From' });
    const until = h('input', { type: 'datetime-local', step: '1',
      'aria-label': 'Until' });
    const wrong = h('p', { class: 'form-error', role: 'alert' });
    const form = h('form', { class: 'range-form', onsubmit: (e) => {
      e.preventDefault();
      const a = ns.time.fromInput(from.value);
      const b = ns.time.fromInput(until.value);
      if (!(a < b)) {
        wrong.textContent = 'From must be before until.';
        return;
      }
      pop.hidePopover();
      ns.view.select({ from: a, until: b });
    } }, h('label', {}, 'From', from), h('label', {}, 'Until', until), wrong,
    h('button', { type: 'submit', class: 'button button-primary',
      text: 'Show' }));
    const pop = ns.dom.popover(button, (p) => {
      const r = ns.view.range();
      from.value = ns.time.toInput(r.from);
      until.value = ns.time.toInput(r.until);
      wrong.textContent = '';
      p.replaceChildren(form);
    }, 'Choose a range');
  }

  /* The span of a range in the words of a breadcrumb. */
  function crumbText(c) {
    const preset = ns.time.PRESETS.find((p) => p.from === c.from);
    if (preset && c.until === 'now')
      return 'last ' + preset.name;
    const r = ns.time.resolve(c.from, c.until, ns.mode.now());
    return F.clock(r.from, true) + ' – ' + F.clock(r.until, true);
  }

  function create(root) {
    const service = ns.card.picker('Service', (name) =>
      ns.view.set({ service: name, fn: '', zoom: '' }));
    const presets = ns.time.PRESETS.map((p) => h('button', { type: 'button',
      class: 'segment', 'data-value': p.from, text: p.label,
      'aria-label': p.label + ', the last ' + p.name,
      onclick: () => ns.view.follow(p.from) }));
    const other = h('button', { type: 'button', class: 'segment',
      text: 'Custom' });
    custom(other);
    const play = h('button', { type: 'button', class: 'button play-button',
      onclick: () => (ns.view.range().follow ? ns.view.pause()
        : ns.view.follow(lastPreset())) });
    const out = h('button', { type: 'button', class: 'button',
      onclick: () => ns.view.zoomOut() }, ns.dom.icon('zoomOut'),
    h('span', { class: 'button-text', text: 'Zoom out' }));
    const again = h('button', { type: 'button', class: 'icon-button',
      'aria-label': 'Refresh', title: 'Refresh',
      onclick: () => ns.dashboard.refresh() }, ns.dom.icon('refresh'));
    const trail = h('nav', { class: 'crumbs', 'aria-label': 'Ranges' });
    root.append(service.node, h('div', { class: 'segments', role: 'group',
      'aria-label': 'Interval' }, presets, other), play, out, again, trail);

    /* A snapshot has no more than it has. */
    function recorded(preset) {
      const s = ns.mode.snapshot;
      return !!s && ns.time.parse(preset, s.until) >= s.from - 60;
    }

    function lastPreset() {
      const span = ns.view.range();
      const c = ns.view.crumbs().find((x) => x.until === 'now');
      const same = ns.time.PRESETS.find((p) =>
        Number(ns.time.parse(p.from, span.until)) <= span.from);
      return c ? c.from : same ? same.from : 'now-24h';
    }

    function showTrail(range) {
      const crumbs = ns.view.crumbs();
      trail.replaceChildren(...crumbs.map((c, i) => h('button', {
        type: 'button', class: 'crumb', text: crumbText(c),
        onclick: () => ns.view.zoomOut(i) })),
      h('span', { 'aria-current': 'true', class: 'range-now' },
        F.range(range.from, range.until),
        h('span', { class: 'range-span', text: ' · ' +
          F.duration(range.until - range.from) + ' · ' +
          F.zone(range.until) })));
    }

    function show(state) {
      const range = ns.view.range();
      const live = ns.mode.current !== 'offline';
      for (const b of presets) {
        b.disabled = !live && !recorded(b.dataset.value);
        b.setAttribute('aria-pressed', String(range.follow &&
          !b.disabled && b.dataset.value === state.from));
      }
      other.setAttribute('aria-pressed', String(!range.follow));
      play.replaceChildren(ns.dom.icon(range.follow ? 'pause' : 'play'),
        h('span', { class: 'button-text',
          text: range.follow ? 'Pause' : 'Follow' }));
      play.setAttribute('aria-label', range.follow
        ? 'Pause: keep this range' : 'Follow the present again');
      play.hidden = !live;
      play.classList.toggle('following', range.follow);
      again.hidden = !live;
      showTrail(range);
    }
    return { show, services: (list, name) =>
      service.set(list.length ? list.map((s) => [s.name, s.label])
        : [[name, name || 'all services']], name) };
  }

  ns.rangeBar = { create, crumbText };
})(globalThis.MemLens = globalThis.MemLens || {});
