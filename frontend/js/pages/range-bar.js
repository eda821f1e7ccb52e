/*
 * The bar under the header: which service, which time, and the way back from
 * zoomed ranges.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;

  function custom(button) {
    const from = h('input', { type: 'datetime-local', 'aria-label': 'From' });
    const until = h('input', { type: 'datetime-local',
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
      ns.dom.setTime(from, r.from);
      ns.dom.setTime(until, r.until);
      wrong.textContent = '';
      p.replaceChildren(form);
    }, 'Choose a range');
  }

  /* What happened in the range, by time, and a line to add to it. */
  function marksList(pop, again) {
    const input = h('input', { type: 'text', class: 'text-input',
      required: true, maxlength: '200', 'aria-label': 'A note of this moment',
      placeholder: 'A note of this moment' });
    const wrong = h('p', { class: 'form-error', role: 'alert' });
    const { service } = ns.view.get();
    const form = h('form', { class: 'mark-form', onsubmit: async (e) => {
      e.preventDefault();
      try {
        await ns.api.post('marks', { text: input.value.trim(),
          service: service === ns.services.ALL ? undefined : service });
        pop.hidePopover();
        again();
      } catch (error) {
        ns.dom.say(wrong, error.message);
      }
    } }, input, h('button', { type: 'submit', class: 'button', text: 'Note' }));
    const marks = ns.marks.all().slice().reverse(), out = ns.marks.leftOut();
    pop.replaceChildren(...[h('h4', { text: 'Marks of this range' }),
      marks.length ? h('ul', { class: 'marks-list' }, marks.map((m) =>
        h('li', {}, h('span', { class: 'swatch', style: { color: 'var(' +
          ns.marks.colour(m) + ')' } }), h('time', { text:
          F.clock(m.time, true) }), ' ' + ns.marks.words(m))))
        : h('p', { class: 'muted', text: 'None.' }),
      out > 0 && h('p', { class: 'muted', text: F.count(out) +
        ' older ones are not listed.' }),
      ns.mode.current === 'live' && form, wrong].filter(Boolean));
  }

  function marksButton(refresh) {
    const button = h('button', { type: 'button', class: 'button' });
    ns.dom.popover(button, (pop) => marksList(pop, refresh), 'Marks');
    const show = (list) => {
      button.textContent = list.length === 1 ? '1 mark'
        : F.count(list.length) + ' marks';
    };
    ns.marks.on(show);
    show(ns.marks.all());
    return button;
  }

  /* The span of a range in the words of a breadcrumb. */
  function crumbText(c) {
    const preset = ns.time.PRESETS.find((p) => p.from === c.from);
    if (preset && c.until === 'now')
      return 'last ' + preset.name;
    const r = ns.time.resolve(c.from, c.until, ns.mode.now(),
      ns.mode.slot());
    const at = (t) => F.clock(t, true) + F.fraction(t);
    return at(r.from) + ' – ' + at(r.until);
  }

  /*
   * What has to be said of the range that is shown, in words: of an address
   * that was not understood, and of a recording that cannot answer all that
   * is asked for.  asked, shown: ranges; relative: the address said "now";
   * demo: the recording's {from, until}, or null.  Pure.
   */
  function notes({ problems, asked, shown, relative, demo }) {
    const out = problems.slice();
    const has = demo && 'The demo was recorded ' + F.range(demo.from,
      demo.until);
    if (demo && shown.outside)
      out.push(has + '. It has nothing of the range that is asked for.');
    else if (demo && !relative && (asked.from !== shown.from ||
        asked.until !== shown.until))
      out.push(has + ', in slots of ' + F.seconds(shown.slot) + ': shown ' +
        'are those that the range asked for touches, ' +
        F.range(shown.from, shown.until) + '.');
    return out;
  }

  function create(root, refresh) {
    const said = h('p', { class: 'hint range-note', role: 'status',
      hidden: true });
    root.after(said);
    const service = ns.card.picker('Service', (name) =>
      ns.view.set({ service: name, instance: '', fn: '', zoom: '' }));
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
      'aria-label': 'Zoom out', onclick: () => ns.view.zoomOut() }, ns.dom.icon('zoomOut'),
    h('span', { class: 'button-text', text: 'Zoom out' }));
    const again = h('button', { type: 'button', class: 'icon-button',
      'aria-label': 'Refresh', title: 'Refresh',
      onclick: refresh }, ns.dom.icon('refresh'));
    const trail = h('nav', { class: 'crumbs', 'aria-label': 'Ranges' });
    root.append(service.node, h('div', { class: 'segments', role: 'group',
      'aria-label': 'Interval' }, presets, other), play, out,
    marksButton(refresh), again, trail);

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

    function showNotes(state, range) {
      const demo = ns.mode.current === 'offline' && ns.mode.snapshot || null;
      const list = !ns.views.of(state.tab).ranged ? ns.view.problems()
        : notes({ problems: ns.view.problems(), asked: ns.view.asked(),
          shown: range, relative: ns.time.isRelative(state.from), demo });
      said.hidden = list.length === 0;
      said.replaceChildren(list.join(' '), ...range.outside
        ? [' ', h('button', { type: 'button', class: 'button',
          text: 'Show what was recorded', onclick: () =>
            ns.view.set({ from: 'now-24h', until: 'now' }) })] : []);
    }

    /* Metrics are known by slots: where the range is not, it is said. */
    function metricsText(range) {
      const whole = ns.time.outward(range, range.slot);
      return whole.from === range.from && whole.until === range.until ? ''
        : ' · metrics in whole slots of ' + F.seconds(range.slot);
    }

    const span = (v) => (Number.isInteger(v) ? F.duration(v) : F.seconds(v));

    function showTrail(range) {
      const crumbs = ns.view.crumbs();
      trail.replaceChildren(...crumbs.map((c, i) => h('button', {
        type: 'button', class: 'crumb', text: crumbText(c),
        onclick: () => ns.view.zoomOut(i) })),
      h('span', { 'aria-current': 'true', class: 'range-now' },
        F.range(range.from, range.until),
        h('span', { class: 'range-span', text: ' · ' +
          span(Number((range.until - range.from).toFixed(6))) + ' · ' +
          F.zone(range.until) + metricsText(range) })));
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
      showNotes(state, range);
    }
    return { show, services: (list, name) =>
      service.set(list.length ? list.map((s) => [s.name, s.label])
        : [[name, name || 'all services']], name) };
  }

  ns.rangeBar = { create, crumbText, notes };
})(globalThis.MemLens = globalThis.MemLens || {});
