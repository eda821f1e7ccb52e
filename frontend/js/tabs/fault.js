/*
 * Fault runs: the operator's own command is carried out after a question, and
 * what each replica did before and after it stands beside each other.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;
  const WAIT_MS = 150000; /* a command may take two minutes */
  const PHASES = ['prepare', 'commit', 'execute'];
  const SHOWN = 5;

  const nameOf = (r) => r.service + (r.instance ? ' ' + r.instance : '');

  /* How a run's command ended, in words; pure. */
  function ended({ fault }) {
    const took = ' after ' + F.seconds(fault.took);
    return fault.late ? 'killed' + took + ': its time was over'
      : fault.status === 0 ? 'carried out in ' + F.seconds(fault.took)
        : fault.status === null ? 'ended by a signal' + took
          : 'failed with status ' + fault.status + took;
  }

  /* What has changed, in a sentence; pure. */
  function sentence(rows) {
    if (!rows.length)
      return 'Nothing of PBFT was recorded around it: compare all metrics.';
    const silent = rows.filter((r) => r.silent).map(nameOf);
    const most = [0, 1].map((k) => Math.max(0, ...rows.map((r) =>
      r.rate[k] || 0)));
    return 'Rounds a second ' + F.compact(most[0]) + ' before, ' +
      F.compact(most[1]) + ' after; ' + (silent.length
      ? silent.join(', ') + ' fell silent.'
      : 'nobody fell silent.');
  }

  async function side({ from, until }, signal) {
    const range = { from, until }, step = until - from;
    const [rounds, phases] = await Promise.all([
      ns.api.get('series', { query: 'pbft_rounds_total', fn: 'increase', step,
        ...range }, { signal }),
      ns.api.get('percentiles', { query: 'pbft_phase_seconds', step, ...range },
        { signal })]);
    return { rounds, phases, seconds: step };
  }

  function pairCells(pair, format) {
    return pair.map((v) => h('td', { class: 'num' + (v === null ? ' absent'
      : ''), text: format(v) }));
  }

  function table(rows) {
    const two = (text) => h('th', { scope: 'colgroup', colspan: '2',
      class: 'num', text });
    const sides = () => ['before', 'after'].map((text) => h('th', {
      scope: 'col', class: 'num', text }));
    return h('div', { class: 'table-scroll', tabindex: '0', role: 'region',
      'aria-label': 'Replicas before and after' },
    h('table', { class: 'data-table fault-table' },
      h('thead', {}, h('tr', {}, h('th', { scope: 'col', rowspan: '2',
        text: 'Replica' }), two('Rounds a second'), PHASES.map((p) =>
        two('p99 of ' + p))), h('tr', {}, sides(), PHASES.flatMap(sides))),
      h('tbody', {}, rows.map((r) => h('tr', { 'data-level': r.silent
        ? 'silent' : null }, h('th', { scope: 'row', text: nameOf(r) }),
      pairCells(r.rate, F.perSecond), PHASES.flatMap((p) =>
        pairCells(r.p99[p], F.seconds)))))));
  }

  function compareAll({ before, after }) {
    ns.view.select({ from: after.from, until: after.until }, { tab: 'runs',
      afrom: String(before.from), auntil: String(before.until), base: '' });
  }

  /* One kept run; what it has changed is asked for when it is opened. */
  function item(run, opened) {
    const { fault } = run;
    const body = h('div', { class: 'fault-body' });
    async function load() {
      const now = ns.mode.now(), left = fault.after.until - now;
      body.replaceChildren(h('p', { class: 'muted', text: 'Loading…' }));
      try {
        const sides = await Promise.all([side(fault.before),
          side({ from: fault.after.from, until: Math.max(
            fault.after.from + 1, Math.min(fault.after.until, now)) })]);
        const rows = ns.overview.fault(sides);
        body.replaceChildren(h('p', { class: 'compare-words', text:
          sentence(rows) + (left > 0 ? ' The time after it is not over for ' +
          F.duration(left) + '.' : '') }),
        h('p', { class: 'muted', text: run.notes + '.' }),
        ...(rows.length ? [table(rows)] : []), h('button', { type: 'button',
          class: 'button', text: 'Compare all metrics', onclick: () =>
            compareAll(fault) }));
      } catch (e) {
        body.replaceChildren(h('p', { class: 'form-error',
          text: e.message }));
      }
    }
    const node = h('details', { class: 'fault-run', open: opened || null,
      ontoggle: () => node.open && load() }, h('summary', {},
      h('strong', { text: fault.command }), ' ' + ended(run) + ', ' +
      F.dateTime(fault.at), fault.said ? h('span', { class: 'muted',
        text: ' – ' + fault.said.trim().split('\n')[0].slice(0, 80) })
        : null), body);
    return node;
  }

  function create() {
    const said = h('p', { class: 'compare-words', role: 'status' });
    const list = h('div', { class: 'fault-list' });
    const button = h('button', { type: 'button', class: 'button',
      text: 'Make something faulty', onclick: carryOut });
    const node = h('article', { class: 'card fault-card',
      'aria-label': 'Fault runs' }, h('header', { class: 'card-head' },
      h('h2', { class: 'card-title', text: 'Fault runs' }),
      ns.dom.infoButton('Fault runs', ['Carries out the command that stands ' +
        'under [fault] in memlens-fcgi.conf, and nothing else: stop a ' +
        'replica, cut a network. Its moment is a mark on every chart.',
      'The time before it and the time after it are kept as a run: rounds ' +
        'a second, how long the phases took, and who fell silent.']),
      h('span', { class: 'spacer' }), button), said, list);
    let known = '';

    async function carryOut() {
      if (!window.confirm('Carry out the fault that is configured on this ' +
        'host? It is meant to break something.'))
        return;
      button.disabled = true;
      ns.dom.say(said, 'The command is being carried out…');
      try {
        const answer = await ns.api.post('actions/fault', { confirmed: true },
          WAIT_MS);
        ns.dom.say(said, answer.run.fault.command + ': ' +
          ended(answer.run) + '.' + (answer.kept ? ''
          : ' The run was not kept: ' + answer.why));
        ns.abBar.forget();
        known = '';
        show([answer.run, ...await runs().catch(() => [])], answer.run.name);
      } catch (e) {
        ns.dom.say(said, e.message);
      }
      button.disabled = ns.mode.current !== 'live';
    }

    const runs = async (signal) => (await ns.api.get('runs', {}, { signal }))
      .runs || [];

    /* A list that is the same stays, with what is open in it. */
    function show(all, opened) {
      const faults = [...new Map(all.filter((r) => r.fault).map((r) =>
        [r.name, r])).values()].sort((a, b) => b.fault.at - a.fault.at)
        .slice(0, SHOWN);
      const key = JSON.stringify([ns.mode.current,
        ...faults.map((r) => r.name)]);
      if (key === known)
        return;
      known = key;
      list.replaceChildren(...(faults.length
        ? faults.map((r) => item(r, r.name === opened))
        : [h('p', { class: 'compare-words', text: 'No fault was made yet.' +
          (ns.mode.current === 'live' ? '' : ' That needs Live.') })]));
    }

    async function refresh({ signal }) {
      button.disabled = ns.mode.current !== 'live';
      button.title = button.disabled ? 'Needs Live' : '';
      try {
        show(await runs(signal));
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        ns.dom.say(said, 'Runs: ' + e.message);
      }
    }
    return { node, refresh };
  }

  ns.fault = { create, ended, sentence };
})(globalThis.MemLens = globalThis.MemLens || {});
