/*
 * Tab "Runs": name the range that is shown, and see every metric that moved
 * between A and B on one page, the better and the worse.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format, R = ns.runs;
  const SHOWS = [['all', 'All'], ['better', 'Better'], ['worse', 'Worse'],
    ['moved', 'Other']];
  const FIELDS = [['name', 'Name', true], ['label', 'Label'],
    ['revision', 'Revision'], ['build_id', 'Build id'],
    ['client', 'Client'], ['rate_target', 'Rate wanted, per second'],
    ['rate_reached', 'Rate reached, per second'], ['notes', 'Notes']];

  function nameForm(pop, done) {
    const wrong = h('p', { class: 'form-error', role: 'alert' });
    const inputs = FIELDS.map(([name, , needed]) => h('input', {
      type: name.startsWith('rate') ? 'number' : 'text', name,
      class: 'text-input', required: needed, step: 'any', min: '0',
      maxlength: name === 'name' ? '100' : '1000' }));
    const range = ns.view.range();
    const body = () => {
      const out = { from: range.from, until: range.until };
      FIELDS.forEach(([name], k) => {
        const text = inputs[k].value.trim();
        if (text)
          out[name] = name.startsWith('rate') ? Number(text) : text;
      });
      return out;
    };
    return h('form', { class: 'filter-form run-form', onsubmit: async (e) => {
      e.preventDefault();
      try {
        await ns.api.post('runs', body());
        pop.hidePopover();
        done();
      } catch (error) {
        ns.dom.say(wrong, error.message);
      }
    } }, h('p', { class: 'muted', text: F.range(range.from, range.until) +
      ', with this host’s kernel, governor and settings.' }),
    FIELDS.map(([, label], k) => h('label', { class: 'filter-field' },
      h('span', { text: label }), inputs[k])), wrong,
    h('div', { class: 'form-buttons' }, h('button', { type: 'submit',
      class: 'button button-primary', text: 'Keep' })));
  }

  /* Everything of one range and another; or what two services, or instances,
   * have alike.  Pure. */
  function queries({ state, service }) {
    const a = ns.abBar.other(state), instance = ns.runs.instance(state);
    const selector = (of) => ns.request.selector('', Object.assign(
      { service: of.service }, of.instance ? { instance: of.instance } : {}));
    if (!a || !service)
      return {};
    return { query: selector(a), 'query-b': selector({ service, instance }),
      requests: undefined };
  }

  function countsText(answer) {
    const c = answer.counts;
    const part = (k, text) => (c[k] ? F.count(c[k]) + ' ' + text : '');
    return [part('better', 'better'), part('worse', 'worse'),
      part('moved', 'moved'), part('same', 'the same'),
      part('only in A', 'only in A'), part('only in B', 'only in B')]
      .filter(Boolean).join(' · ') || 'no data in either range';
  }

  class RunsTab {
    constructor(root, refreshAll) {
      this.refreshAll = refreshAll;
      this.list = [];
      this.answer = null;
      this.ab = ns.abBar.create();
      this.runs = ns.runsTable.runs({ onRemove: (r) => this.remove(r) });
      this.metrics = ns.runsTable.metrics();
      this.counts = h('p', { class: 'compare-words', role: 'status' });
      root.append(this.runsCard(), this.metricsCard());
    }

    runsCard() {
      this.name = h('button', { type: 'button',
        class: 'button button-primary', text: 'Name this range' });
      ns.dom.popover(this.name, (pop) => pop.replaceChildren(
        nameForm(pop, () => this.again())), 'Name this range');
      return h('article', { class: 'card', 'aria-label': 'Named runs' },
        h('header', { class: 'card-head' },
          h('h2', { class: 'card-title', text: 'Runs' }),
          ns.dom.infoButton('Runs', ['A run is a range with a name: a ' +
            'baseline, a load test, a release. Any view can then be seen ' +
            'as A against B.', 'A run is kept as long as the finest data ' +
            'of the time when it was named.']),
          h('span', { class: 'spacer' }), this.name), this.runs.node);
    }

    metricsCard() {
      this.shows = SHOWS.map(([value, label]) => h('button', {
        type: 'button', class: 'segment', 'data-value': value, text: label,
        onclick: () => ns.view.set({ show: value }, { replace: true }) }));
      this.search = h('input', { type: 'search', class: 'search-input',
        id: 'metric-search', placeholder: 'Search, or /regex/',
        'aria-label': 'Search metrics', spellcheck: 'false',
        oninput: () => ns.view.set({ search: this.search.value },
          { replace: true }) });
      this.requests = ns.card.picker('Requests', (v) =>
        ns.view.set({ requests: v }));
      const flames = h('button', { type: 'button', class: 'button',
        text: 'Compare flame graphs',
        onclick: () => ns.view.set({ tab: 'profiles', view: 'compare' }) });
      return h('article', { class: 'card metrics-card',
        'aria-label': 'Metrics that moved' },
      h('header', { class: 'card-head' },
        h('h2', { class: 'card-title', text: 'What moved from A to B' }),
        ns.dom.infoButton('What moved', ['Every metric of the service, ' +
          'of the host, of others, the largest change first: counters as rates over the seconds that have data, ' +
          'gauges as means.', 'Better and worse are said where the name ' +
          'of a metric tells. “no data” is not 0.']),
        h('span', { class: 'spacer' }), flames),
      h('div', { class: 'compare-controls' }, this.ab.node,
        h('div', { class: 'segments', role: 'group', 'aria-label': 'Show' },
          this.shows), h('label', { class: 'search-field' },
          ns.dom.icon('search'), this.search), this.requests.node,
        this.counts),
      this.metrics.node);
    }

    again() {
      ns.abBar.forget();
      this.refreshAll();
    }

    async remove(run) {
      if (!window.confirm('Remove the run “' + run.name +
        '”? Its data stays.'))
        return;
      await ns.api.post('runs', { name: run.name, removed: true });
      this.again();
    }

    /* Runs and metrics; one failing does not spoil the other. */
    async refresh(ctx) {
      const { a: ra, b: rb } = ns.abBar.pair(ctx.state, ctx.range);
      const ask = (p) => p.catch((e) => {
        if (e.name === 'AbortError')
          throw e;
        return e;
      });
      const [list, answer] = await Promise.all([
        ask(ns.abBar.runs(ctx.signal)),
        ask(ns.api.get('compare.json', Object.assign({ from: ra.from,
          until: ra.until, 'from-b': rb.from, 'until-b': rb.until,
          limit: 5000, show: 'all', requests: ctx.state.requests },
        queries(ctx)), { signal: ctx.signal }))]);
      this.list = Array.isArray(list) ? list : [];
      this.unlisted = list instanceof Error ? list.message : '';
      this.answer = answer instanceof Error ? null
        : R.readable(answer, ctx.service);
      this.offer(answer, ctx);
      this.why = answer instanceof Error ? answer.message : '';
      this.ranges = [ra, rb];
      this.arrange(ctx.state);
    }

    /* What may count requests; and what was chosen, seen or not. */
    offer(answer, { service, state }) {
      const found = R.counters(answer.rows || [], service);
      const all = [...new Set([state.requests, ...found])].filter(Boolean);
      this.requests.set([['', 'not counted'], ...all.map((s) => [s, s])],
        state.requests);
    }

    arrange(state) {
      if (!this.ranges)
        return;
      const [ra, rb] = this.ranges;
      this.name.disabled = ns.mode.current !== 'live';
      this.name.title = this.name.disabled ? 'Needs Live' : '';
      this.ab.show(ra, rb);
      this.runs.show(this.list, ra, rb, this.unlisted);
      for (const b of this.shows)
        b.setAttribute('aria-pressed',
          String(b.dataset.value === state.show));
      if (this.search.value !== state.search)
        this.search.value = state.search;
      this.counts.textContent = this.answer ? countsText(this.answer) : '';
      this.metrics.show(this.answer ? this.answer.rows : [], state.show,
        state.search, this.why);
    }
  }

  ns.runsTab = { create: (root, refresh) => new RunsTab(root, refresh),
    queries };
})(globalThis.MemLens = globalThis.MemLens || {});
