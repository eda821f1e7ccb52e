/*
 * The header's truth about the data: health, its age, what was lost; the
 * switch between Live and the demo; and the banner of a lost connection or
 * of the demo.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;
  const WORDS = { ok: 'Healthy', degraded: 'Degraded', down: 'Down' };
  const MARKS = { ok: '●', degraded: '▲', down: '■', none: '○' };

  function summary(mode) {
    const j = mode.health;
    if (mode.current === 'starting')
      return { level: 'none', text: 'Connecting…', why: '' };
    if (!ns.mode.canBeLive())
      return { level: 'none', text: 'From a file', why: '' };
    if (!j)
      return mode.api ? { level: 'down', text: 'No connection',
        why: mode.why } : { level: 'none', text: 'Demo', why: mode.why };
    if (mode.current === 'offline')
      return { level: 'none', text: 'Demo', why: '' };
    return { level: j.level, text: WORDS[j.level],
      why: j.reasons[0] || '' };
  }

  /* "none", or how many and why; a stack that is not whole lacks callers
   * or names, but its sample is counted. */
  function reasons(counts, total, of) {
    const list = Object.entries(counts).filter(([, n]) => n > 0)
      .sort((a, b) => b[1] - a[1])
      .map(([k, n]) => F.count(n) + ' ' + k.replace(/[_-]/g, ' '));
    return list.length === 0 ? 'none'
      : (of > 0 ? F.percent(total / of) + ': ' : '') + list.join(', ');
  }

  function sourceRow(s) {
    const counts = s.samples === null ? null : s.broken;
    return h('tr', {}, h('th', { scope: 'row', text: s.name }),
      h('td', { class: /^(attached|running|ok)$/.test(s.state)
        ? '' : 'warn-text', text: s.state +
        (s.detail ? ': ' + s.detail : '') }),
      h('td', { class: 'num', text: s.age === null ? '–'
        : F.duration(s.age) }),
      h('td', { class: 'num', text: s.samples === null ? '–'
        : F.compact(s.samples) }),
      h('td', { class: s.lostTotal ? 'warn-text' : '',
        text: reasons(s.lost) + (s.lostBytes > 0 ? ', ' +
          F.bytes(s.lostBytes) : '') }),
      h('td', { text: counts ? reasons(counts, s.brokenTotal, s.samples)
        : '–' }));
  }

  function fill(pop) {
    const mode = ns.mode, j = mode.health;
    const s = summary(mode);
    const head = [h('h4', { text: MARKS[s.level] + ' ' + s.text })];
    if (!j)
      return pop.replaceChildren(...head, h('p', { text: mode.why }));
    if (mode.current === 'offline')
      head.push(h('p', { text: 'Of the server, not of the demo: ' +
        WORDS[j.level] }));
    for (const why of j.reasons)
      head.push(h('p', { class: 'warn-text', text: why }));
    for (const what of j.stopped)
      head.push(h('p', { text: what }));
    const store = [];
    if (j.age !== null)
      store.push('newest data ' + F.duration(j.age) + ' old');
    if (F.known(j.store.bytes))
      store.push('store ' + F.bytes(j.store.bytes));
    if (F.known(j.self.cpu))
      store.push('MemLens itself: ' + F.percent(j.self.cpu) + ' of one CPU' +
        (F.known(j.self.rss) ? ', ' + F.bytes(j.self.rss) : '') +
        (j.self.processes || []).map((p) => '; ' + p.name + ' ' +
          F.percent(p.cpu) + ', ' + F.bytes(p.rss)).join(''));
    if (j.version)
      store.push('version ' + j.version);
    return pop.replaceChildren(...head, h('div', { class: 'table-scroll' },
      h('table', { class: 'data-table' }, h('thead', {}, h('tr', {},
        ['Source', 'State', 'Last', 'Samples', 'Lost', 'Not whole'].map((t, k) =>
          h('th', { scope: 'col', class: k === 2 || k === 3 ? 'num' : '',
            text: t })))), h('tbody', {}, j.sources.map(sourceRow)))),
    h('p', { class: 'muted', text: 'Samples, lost ones and stacks that are ' +
      'not whole are those of the last five minutes.' }),
    h('p', { class: 'muted', text: store.join(' · ') }));
  }

  function pill(button) {
    const pop = ns.dom.popover(button, fill, 'Health');
    pop.classList.add('health-pop');
    return (mode) => {
      const s = summary(mode);
      const j = mode.current === 'offline' ? null : mode.health;
      button.dataset.level = s.level;
      const age = j && j.age !== null ? F.duration(j.age) + ' ago' : '';
      const parts = [
        h('span', { class: 'pill-mark', 'aria-hidden': 'true',
          text: MARKS[s.level] }),
        h('span', { class: 'pill-text', text: s.text }),
        h('span', { class: 'pill-more', text: s.why || age })];
      if (j && j.lost > 0)
        parts.push(h('span', { class: 'pill-lost',
          text: F.compact(j.lost) + ' lost' }));
      button.replaceChildren(...parts);
      button.title = [s.text, s.why, age].filter(Boolean).join(' – ');
      if (pop.matches(':popover-open'))
        fill(pop);
    };
  }

  function demo(offline) {
    ns.view.set({ mode: offline ? 'offline' : 'auto' });
  }

  /* Two buttons: Live follows reality, Demo is a choice that stays. */
  function modeSwitch(root) {
    const make = (text, value) => h('button', { type: 'button',
      class: 'segment', text, 'data-value': value, onclick: () => {
        demo(value === 'offline');
        if (value === 'live')
          ns.mode.poll();
      } });
    const buttons = [make('Live', 'live'), make('Demo', 'offline')];
    root.replaceChildren(...buttons);
    return (mode) => {
      for (const b of buttons)
        b.setAttribute('aria-pressed',
          String((b.dataset.value === 'offline') ===
            (mode.current === 'offline')));
      buttons[0].disabled = !mode.api;
      buttons[0].title = mode.api
        ? 'Data of this moment' : 'Not now: ' + mode.why;
      buttons[1].title = 'The bundled demo: recorded, of another machine';
    };
  }

  /* What a snapshot is, and what there is instead. */
  function demoText(mode) {
    const s = mode.snapshot;
    const taken = s ? F.dateTime(Date.parse(s.taken) / 1000) : '';
    return [h('strong', { text: 'Offline demo.' }), ' ' +
      (s ? 'All data here is recorded, of another machine: a snapshot of ' +
        taken + ' and the ' + F.duration(s.until - s.from) + ' before.' +
        (/mock/.test(s.by) ? ' Its numbers are made up.' : '')
        : 'There is no snapshot beside this page.') + ' ' +
      (mode.forced ? mode.reachable ? 'Live data is available.' : ''
        : 'Reason: ' + mode.why + '.')];
  }

  /* Nothing else takes the place of what was shown. */
  function lostText(mode) {
    const button = (text, onclick) => h('button', { type: 'button',
      class: 'button', text, onclick });
    return [h('strong', { text: 'No connection since ' +
      F.clock(mode.since, true) + '.' }), ' ' + (mode.wasLive
      ? 'What is shown was loaded before; newer data is missing.'
      : 'Nothing was loaded yet.') + ' Reason: ' + mode.why +
      '. It is asked again every few seconds. ',
    button('Try now', () => ns.mode.poll()), ' ',
    button('Open the demo', () => demo(true))];
  }

  function banner(root) {
    let shown = '';
    return (mode) => {
      const make = { offline: demoText, lost: lostText }[mode.current];
      root.hidden = !make;
      root.dataset.mode = mode.current;
      const key = JSON.stringify([mode.current, mode.why, mode.since,
        mode.reachable, mode.forced, !!mode.snapshot]);
      if (make && key !== shown) /* a button keeps its focus */
        root.replaceChildren(...make(mode));
      shown = key;
    };
  }

  function create({ button, switcher, bannerNode }) {
    const shows = [pill(button), modeSwitch(switcher), banner(bannerNode)];
    let before = '';
    return (mode) => {
      for (const show of shows)
        show(mode);
      const said = mode.current + ' ' + summary(mode).text;
      if (before && said !== before)
        ns.dom.announce(mode.current === 'offline' ? 'Offline demo'
          : mode.current === 'lost' ? 'No connection'
            : 'Live, ' + summary(mode).text);
      before = said;
    };
  }

  ns.status = { create, summary, pill };
})(globalThis.MemLens = globalThis.MemLens || {});
