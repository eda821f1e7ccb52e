/*
 * Two tables of the tab "Runs": the named runs, and every metric that moved
 * between A and B.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, R = ns.runs;
  const SHOWN = 300;

  function factsButton(run) {
    const facts = R.facts(run);
    if (!facts.length)
      return null;
    const b = h('button', { type: 'button', class: 'icon-button info-button',
      'aria-label': 'About run ' + run.name }, ns.dom.icon('info'));
    ns.dom.popover(b, (pop) => pop.replaceChildren(
      h('h4', { text: run.name }), h('dl', { class: 'tip-facts run-facts' },
        facts.map(([k, v]) => [h('dt', { text: k }), h('dd', { text: v })]))),
    'About run ' + run.name);
    return b;
  }

  function useButton(side, run, on, act) {
    return h('button', { type: 'button', class: 'segment',
      'aria-pressed': String(on), text: side,
      'aria-label': 'Use ' + run.name + ' as ' + side,
      onclick: () => act(run) });
  }

  /* spec: {onRemove(run)}; show(runs, range A, range B,
   * why there are none). */
  function runs(spec) {
    const body = h('tbody');
    const empty = h('p', { class: 'table-more', text: 'Loading…' });
    const node = h('div', { class: 'table-scroll runs-table', tabindex: '0',
      role: 'region', 'aria-label': 'Named runs' },
    h('table', { class: 'data-table' },
      h('caption', { class: 'visually-hidden', text: 'Named runs' }),
      h('thead', {}, h('tr', {}, ['Compare', 'Run', 'Range', 'Label',
        'Revision', 'Rate', ''].map((t) => h('th', { scope: 'col',
        text: t || null }, t ? null : h('span', { class: 'visually-hidden',
        text: 'Actions' }))))), body), empty);

    function line(run, ra, rb) {
      const is = (r) => R.named([run], r) !== undefined;
      const remove = h('button', { type: 'button', class: 'icon-button',
        'aria-label': 'Remove run ' + run.name, title: 'Remove',
        disabled: ns.mode.current !== 'live',
        onclick: () => spec.onRemove(run) }, ns.dom.icon('remove'));
      return h('tr', {}, h('td', {}, h('span', { class: 'segments' },
        useButton('A', run, is(ra), ns.abBar.setA),
        useButton('B', run, is(rb), ns.abBar.setB))),
      h('th', { scope: 'row', class: 'run-name' }, run.name, ' ',
        factsButton(run)),
      h('td', { text: F.range(run.from, run.until) }),
      h('td', { class: 'run-text', text: run.label || '' }),
      h('td', { class: 'run-text', text: run.revision || '' }),
      h('td', { class: 'num', text: F.known(run.rate_reached)
        ? F.compact(run.rate_reached) + '/s' : '' }),
      h('td', { class: 'num' }, remove));
    }

    function show(list, ra, rb, why) {
      body.replaceChildren(...list.map((r) => line(r, ra, rb)));
      empty.hidden = list.length > 0;
      empty.textContent = why || 'No run has a name yet. Name the range ' +
        'that you look at, and compare others with it later.';
      node.firstElementChild.hidden = list.length === 0;
    }
    return { node, show };
  }

  const VERDICT_SIGN = { better: '▲ ', worse: '▼ ' };

  /* A value and, where requests are counted, how much of it is one's. */
  function side(r, k) {
    const v = r.value[k], each = r.per_request && r.per_request[k];
    return h('td', { class: 'num' + (v === null ? ' absent' : '') },
      ns.unit.text(v, r.unit), F.known(each) ? h('span', { class: 'per-request',
        text: ns.unit.text(each, ns.unit.each(r.unit)) + ' a request' }) : null);
  }

  function metricLine(r) {
    const labels = Object.entries(r.labels);
    return h('tr', { 'data-verdict': r.verdict },
      h('th', { scope: 'row', class: 'metric-name' },
        h('span', { class: 'metric' }, r.name.split(/(?<=_)/)
          .flatMap((part, k) => (k ? [h('wbr'), part] : [part]))),
        labels.length ? h('span', { class: 'metric-labels',
          text: labels.map(([k, v]) => k + '=' + v).join(' ') }) : null),
      side(r, 0), side(r, 1),
      h('td', { class: 'num' }, R.change(r), h('span', {
        class: 'verdict verdict-sign', 'aria-hidden': 'true',
        'data-verdict': r.verdict, text: ' ' +
          (VERDICT_SIGN[r.verdict] || '').trim() })),
      h('td', {}, h('span', { class: 'verdict', 'data-verdict': r.verdict,
        text: (VERDICT_SIGN[r.verdict] || '') + r.verdict })));
  }

  const FILTERS = {
    all: () => true, better: (r) => r.verdict === 'better',
    worse: (r) => r.verdict === 'worse',
    moved: (r) => !['better', 'worse'].includes(r.verdict)
  };

  /* What the filter and the search leave. */
  function chosen(rows, show, search) {
    const match = ns.flameTree.matcher(search);
    return rows.filter((r) => FILTERS[show](r) &&
      (!match || !match.test || match.test(R.metric(r))));
  }

  function metrics() {
    const body = h('tbody');
    const more = h('p', { class: 'table-more', text: 'Loading…' });
    const node = h('div', { class: 'table-scroll metrics-table',
      tabindex: '0', role: 'region', 'aria-label': 'Metrics that moved' },
    h('table', { class: 'data-table' },
      h('caption', { class: 'visually-hidden',
        text: 'Metrics in A and in B' }),
      h('thead', {}, h('tr', {}, [['Metric', ''], ['A', 'num'],
        ['B', 'num'], ['Change', 'num'], ['', '']].map(([t, c]) => h('th',
        { scope: 'col', class: c, text: t || null }, t ? null
          : h('span', { class: 'visually-hidden', text: 'Verdict' }))))),
      body), more);

    function show(rows, filter, search, why) {
      const list = chosen(rows, filter, search);
      body.replaceChildren(...list.slice(0, SHOWN).map(metricLine));
      more.hidden = list.length > 0 && list.length <= SHOWN;
      more.textContent = list.length === 0 ? rows.length === 0
        ? why || 'No metric has data to compare.' : 'No metric like that has moved.'
        : F.count(list.length - SHOWN) + ' more moved less.';
    }
    return { node, show };
  }

  ns.runsTable = { runs, metrics, chosen };
})(globalThis.MemLens = globalThis.MemLens || {});
