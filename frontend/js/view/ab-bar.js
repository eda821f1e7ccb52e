/*
 * Which range is A, and which is B.  B is what the page shows; A is a named
 * run, the same span before, or a chosen range; or another service or
 * instance, of the same time or another.  Both the compared profile and the
 * compared metrics have this bar.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const F = ns.format;
  const DAY = 86400;

  /* The runs, asked for once a minute at most. */
  let list = [], listAt = 0;
  async function runs(signal) {
    if (Date.now() - listAt > 60000 || ns.mode.current === 'offline') {
      list = (await ns.api.get('runs', {}, { signal })).runs || [];
      listAt = Date.now();
    }
    return list;
  }

  function forget() {
    listAt = 0;
  }

  /* {service, instance} of each that a rule names, once a minute at most. */
  let peers = [], peersAt = 0;
  async function listPeers(range) {
    if (Date.now() - peersAt < 60000 || ns.mode.current === 'offline')
      return;
    const { from, until } = ns.time.outward(range, range.slot);
    const answer = await ns.api.get('series', { from, until,
      query: 'memlens_instance_memory_bytes{memtype="resident"}',
      step: until - from });
    peers = answer.series.map((s) => s.labels).sort((a, b) =>
      a.service.localeCompare(b.service) ||
      a.instance.localeCompare(b.instance, 'en', { numeric: true }));
    peersAt = Date.now();
  }

  /* The other service that A is: {service, instance}, or null.  Pure. */
  function other({ aservice, ainstance }) {
    return aservice ? { service: aservice, instance: ainstance } : null;
  }

  const named = ({ service, instance }) => service + (instance
    ? ' ' + instance : '');

  /* Whose A and B are, where they are not the same. */
  function whose(state) {
    const a = other(state), instance = ns.runs.instance(state);
    return a ? [named(a), named({ service: state.service, instance })]
      : ['', ''];
  }

  /* Of the state; what is older than all data is known from the mode.  Of a
   * recording A is answered like B. */
  function pair(state, range) {
    const m = ns.mode;
    const store = m.current === 'offline' ? m.snapshot
      : m.health && m.health.store;
    const oldest = ns.time.parse(store && store.from, 0);
    const both = ns.runs.pair(state, range, Number.isFinite(oldest)
      ? oldest : 0, m.now());
    return Object.assign(both, { a: ns.view.covered(both.a) });
  }

  function setA(r) {
    ns.view.set({ afrom: String(r.from), auntil: String(r.until), base: '',
      zoom: '' });
  }

  function setB(r) {
    ns.view.select(r);
  }

  function rangeForm(pop, title, range, use) {
    const from = h('input', { type: 'datetime-local' });
    const until = h('input', { type: 'datetime-local' });
    const wrong = h('p', { class: 'form-error', role: 'alert' });
    ns.dom.setTime(from, range.from);
    ns.dom.setTime(until, range.until);
    return h('form', { class: 'range-form', onsubmit: (e) => {
      e.preventDefault();
      const r = { from: ns.time.fromInput(from.value),
        until: ns.time.fromInput(until.value) };
      if (!(r.from < r.until)) {
        wrong.textContent = 'From must be before until.';
        return;
      }
      pop.hidePopover();
      use(r);
    } }, h('h4', { text: title }), h('label', {}, 'From', from),
    h('label', {}, 'Until', until), wrong,
    h('button', { type: 'submit', class: 'button button-primary',
      text: 'Use' }));
  }

  function choices(side, pop) {
    const { a, b, halves, ends } = pair(ns.view.get(), ns.view.range());
    const use = side === 'A' ? setA : setB;
    const item = (text, note, act) => h('button', { type: 'button',
      class: 'menu-item ab-item', onclick: () => {
        pop.hidePopover();
        act();
      } }, h('span', { text }), h('span', { class: 'muted', text: note }));
    const back = (s) => ({ from: b.from - s, until: b.until - s });
    const fixed = side === 'A' ? [
      item(halves ? 'The first half' : 'The span before', ends
        ? 'of the range' : halves
        ? 'of the range; B is the second' : 'as long as B', () =>
        ns.view.set({ afrom: '', auntil: '', base: '', zoom: '' })),
      item('The beginning', 'of the range; B is its end', () =>
        ns.view.set({ afrom: '', auntil: '', base: 'ends', zoom: '' })),
      item('A day before', F.range(b.from - DAY, b.until - DAY), () =>
        setA(back(DAY))),
      item('A week before', F.range(b.from - 7 * DAY, b.until - 7 * DAY),
        () => setA(back(7 * DAY)))] : [];
    const state = ns.view.get();
    const others = side === 'A' && peers.length ? [
      h('h4', { class: 'menu-title', text: 'Another service' }),
      other(state) && item('The same service', 'and instance as B', () =>
        ns.view.set({ aservice: '', ainstance: '', zoom: '' })),
      peers.filter((p) => p.service !== state.service ||
        p.instance !== state.instance).slice(0, 40).map((p) =>
        item(named(p), 'beside ' + named({ service: state.service,
          instance: ns.runs.instance(state) }), () =>
          ns.view.set({ aservice: p.service, ainstance: p.instance,
            zoom: '' })))] : [];
    return [fixed, others, list.length ? h('h4', { class: 'menu-title',
      text: 'Runs' }) : h('p', { class: 'menu-note muted', text:
      'No run has a name yet: see the tab Runs.' }),
    list.slice(0, 20).map((r) => item(r.name, F.range(r.from, r.until),
      () => use(r))),
    rangeForm(pop, 'Another range', side === 'A' ? a : b, use)];
  }

  function side(name) {
    const text = h('span', { class: 'ab-range' });
    const button = h('button', { type: 'button', class: 'button ab-button' },
      h('span', { class: 'ab-name', text: name }), ' ', text);
    ns.dom.popover(button, (pop) => {
      const fill = () => pop.replaceChildren(
        ...choices(name, pop).flat(9).filter(Boolean));
      fill();
      if (name === 'A') /* without them the rest is there */
        listPeers(ns.view.range()).then(fill, () => 0);
    }, 'Choose ' + name).classList.add('menu', 'ab-menu');
    return { button, show(range) {
      const run = ns.runs.named(list, range);
      const of = whose(ns.view.get())[name === 'A' ? 0 : 1];
      text.textContent = (of ? of + ' · ' : '') +
        (run ? run.name + ' · ' : '') + F.range(range.from, range.until);
      button.title = 'Choose another ' + name;
    } };
  }

  /* Whose they are, turned round.  Pure. */
  function turned(state) {
    const a = other(state);
    return a ? { service: a.service, instance: a.instance,
      aservice: state.service, ainstance: ns.runs.instance(state) }
      : {};
  }

  function create() {
    const a = side('A'), b = side('B');
    const swap = h('button', { type: 'button', class: 'icon-button',
      title: 'Swap A and B', 'aria-label': 'Swap A and B', onclick: () => {
        const { a: was, b: is } = pair(ns.view.get(), ns.view.range());
        ns.view.set(Object.assign({ from: String(was.from),
          until: String(was.until), afrom: String(is.from),
          auntil: String(is.until), base: '' }, turned(ns.view.get())));
      } }, ns.dom.icon('swap'));
    const node = h('div', { class: 'ab-bar', role: 'group',
      'aria-label': 'What is compared' }, a.button, swap, b.button);
    return { node, show(ra, rb) {
      a.show(ra);
      b.show(rb);
    } };
  }

  ns.abBar = { create, pair, runs, forget, other, turned, setA, setB };
})(globalThis.MemLens = globalThis.MemLens || {});
