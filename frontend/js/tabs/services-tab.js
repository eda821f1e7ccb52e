/*
 * Tab "Services": several services at once, a line each: those that a rule of
 * the daemon names, by instance, and the others on request.  A line leads to
 * the profiles of its own.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, O = ns.overview, I = ns.instances;
  const OTHERS = 200;
  const HEADS = [['Service', ''], ['State', ''], ['CPU', 'num'], ['', 'line'],
    ['Memory', 'num'], ['Rounds', 'num'], ['Missed', 'num']];

  const queries = () => O.QUERIES;

  const clock = (t) => F.clock(t, true);
  const words = (state) => I.words(state, clock);

  /* "4 of 5 run; kv_service :20003: silent since 12:00:01".  Pure. */
  function summary({ ruled }) {
    if (!ruled.length)
      return 'No service is named by a rule: [service NAME] in memlens.conf ' +
        'names databases, and tells their instances apart.';
    const well = ruled.filter((r) => I.isWell(r.state)).length;
    const bad = ruled.filter((r) => I.isTrouble(r.state));
    const stopped = ruled.length - well - bad.length;
    const told = [...bad, ...ruled.filter((r) => !I.isWell(r.state) &&
      !bad.includes(r))];
    return F.count(well) + ' of ' + F.count(ruled.length) +
      (well === 1 ? ' is well' : ' are well') + (stopped ? ', ' +
      F.count(stopped) + (stopped === 1 ? ' was' : ' were') +
      ' stopped on purpose' : '') + (told.length ? '; ' +
      F.few(told.map((r) => nameOf(r) + ': ' + words(r.state))) : '') + '.';
  }

  const { nameOf } = ns.pbftRounds;

  function open(r) {
    ns.view.set({ tab: 'profiles', service: r.service,
      instance: r.instance, fn: '', zoom: '' });
  }

  function line(r) {
    const spark = ns.spark.create();
    spark.set(r.cpu, 0);
    const num = (text, absent) => h('td', { class: 'num' + (absent
      ? ' absent' : ''), text });
    return h('tr', { 'data-level': r.state.level },
      h('th', { scope: 'row' }, h('button', { type: 'button',
        class: 'link-button service-name', title: 'Profiles of ' + nameOf(r),
        onclick: () => open(r) }, r.service, r.instance ? h('span', {
        class: 'muted', text: ' ' + r.instance }) : null)),
      h('td', { class: 'service-state', text: words(r.state) }),
      num(F.percent(r.cpuNow), r.cpuNow === null),
      h('td', { class: 'service-line' }, spark.node),
      num(F.bytes(r.memoryNow), r.memoryNow === null),
      num(r.replica ? F.perSecond(r.rate) : '', false),
      num(r.replica ? F.count(r.missed) : '', false));
  }

  function table(label) {
    const body = h('tbody');
    const node = h('div', { class: 'table-scroll', tabindex: '0',
      role: 'region', 'aria-label': label }, h('table', {
      class: 'data-table services-table' },
    h('caption', { class: 'visually-hidden', text: label }),
    h('thead', {}, h('tr', {}, HEADS.map(([text, c]) => h('th', {
      scope: 'col', class: c || null, text: text || null,
      title: text === 'Missed' ? ns.pbftRounds.MEANS : null }, text ? null
      : h('span', { class: 'visually-hidden', text: 'CPU over time' }))))),
    body));
    return { node, show: (list) => {
      node.hidden = list.length === 0;
      body.replaceChildren(...list.map(line));
    } };
  }

  function create(root) {
    const named = table('Services by instance'), rest = table('Other services');
    const said = h('p', { class: 'compare-words', role: 'status' });
    const more = h('button', { type: 'button', class: 'button', onclick: () =>
      ns.view.set({ others: ns.view.get().others ? '' : '1' },
        { replace: true }) });
    const fault = ns.fault.create();
    let shown = null;
    root.append(h('article', { class: 'card', 'aria-label': 'Services' },
      h('header', { class: 'card-head' },
        h('h2', { class: 'card-title', text: 'Services' }),
        ns.dom.infoButton('Services', ['What rules of memlens.conf name, a ' +
          'line for each instance: a database that listens is told by its ' +
          'lowest port. CPU is of one CPU, the newest value and its course; ' +
          'memory is resident.',
        'Rounds are those of PBFT that a replica executes, a second in the ' +
          'last minute. ' + ns.pbftRounds.MEANS + ' Where several of a ' +
          'service propose at once they are of several clusters, told apart ' +
          'by the file that they were started with.',
        'State, rounds and missed are those at the end of the range.']),
        h('span', { class: 'spacer' }), more), said, named.node, rest.node),
    fault.node);

    function arrange(state) {
      if (!shown)
        return;
      const others = shown.others.slice(0, OTHERS);
      more.hidden = shown.others.length === 0;
      ns.dom.say(more, (state.others ? 'Hide ' : 'Show ') +
        F.count(others.length) + ' other services');
      more.setAttribute('aria-expanded', String(!!state.others));
      rest.show(state.others ? others : []);
    }

    async function marks({ range, signal }) {
      try {
        return (await ns.api.get('marks', { from: Math.min(range.from,
          range.until - I.MARKS_S), until: range.until, what: I.MARKS },
        { signal })).marks || [];
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        return []; /* a state without its word is one all the same */
      }
    }

    /* What is stored ends before now. */
    function stored({ from, until }) {
      const health = ns.mode.current === 'live' ? ns.mode.health : null;
      const end = health ? ns.time.parse(health.store.until, until) : until;
      return { from, until: Number.isFinite(end) ? Math.min(until, end)
        : until };
    }

    async function refresh(ctx) {
      const { until } = stored(ctx.range), { slot } = ctx.range;
      const { step, from } = I.range(until, slot);
      const ask = (range) => ns.api.series(I.QUERIES, Object.assign({ slot },
        range), range.step, ctx.signal);
      const [r, near, here, told] = await Promise.all([
        ns.api.series(queries(), ctx.range, ctx.step, ctx.signal),
        ask({ from, until, step }),
        ns.api.series(O.HERE, { from: until - O.HERE_S, until, slot },
          O.HERE_S, ctx.signal), marks(ctx), fault.refresh(ctx)]);
      near.fine = await Promise.all(I.unclear(near, told, until, slot)
        .map(ask));
      const failed = [...Object.values(r), near.alive, near.rounds,
        here.here].map((x) => x.error).find((e) => e);
      shown = O.rows(r, Object.assign(near, here), told,
        until);
      ns.dom.say(said, failed ? failed.message : summary(shown));
      named.show(shown.ruled);
      arrange(ctx.state);
    }
    return { refresh, arrange };
  }

  ns.servicesTab = { create, queries, summary, words };
})(globalThis.MemLens = globalThis.MemLens || {});
