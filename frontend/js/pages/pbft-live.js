/*
 * The live side of the PBFT page: what replicas of this host do, beside the
 * model of what they should.  Where nobody answers it says that it is not
 * live, and keeps what it had.
 */
(function (ns) {
  'use strict';

  const { $, h } = ns.dom;
  const F = ns.format, R = ns.pbftRounds, I = ns.instances;
  const TIMES_S = 600, REFRESH_MS = 10000, TIMEOUT_MS = 8000;
  const TIMES = 'Times are of the last ten minutes';
  const HEADS = [['Replica'], ['State'], ['Proposes', 'In the last hour'],
    ['Executed', 'In the last hour'], ['Missed', R.MEANS],
    ...['Prepare p50', 'p99', 'Commit p50', 'p99', 'Execute p50', 'p99']
      .map((text) => [text, TIMES])];
  let shown = false, timer = 0;

  async function ask(name, params) {
    const res = await fetch(ns.request.path(name, params),
      { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const body = await res.json().catch(() => null);
    if (!body || body.error)
      throw new Error(body ? body.error : 'the server answers ' + res.status);
    return body;
  }

  async function askColumns({ query, fn }, range) {
    const answer = await ask('series', { query, fn, ...range });
    return { cols: ns.series.columns(answer), step: answer.step };
  }

  async function askInstances(range) {
    const [alive, rounds] = await Promise.all(I.QUERIES.map((q) =>
      askColumns(q, range)));
    return { alive, rounds };
  }

  /* What is stored ends before now. */
  async function storedUntil() {
    const { store } = await ask('health', {});
    return { until: ns.time.parse(store.until, NaN),
      slot: store.slot || ns.time.SLOT_S };
  }

  /* Times are of one step; null where nothing is stored of rounds. */
  async function load() {
    const { until, slot } = await storedUntil();
    if (!Number.isFinite(until))
      return null;
    const whole = { from: until - TIMES_S, until, step: TIMES_S };
    const { alive, rounds } = await askInstances(I.range(until, slot));
    if (!rounds.cols.length)
      return null;
    const [phases, lost, told] = await Promise.all([
      ask('percentiles', { query: 'pbft_phase_seconds', ...whole }),
      ask('series', { query: 'memlens_pbft_lost_total', fn: 'increase',
        ...whole }),
      ask('marks', { from: until - I.MARKS_S, until, what: I.MARKS })
        .catch(() => ({ marks: [] }))]); /* a state without its word is one */
    const fine = await Promise.all(I.unclear({ alive, rounds }, told.marks,
      until, slot).map(askInstances));
    return { near: { alive, rounds, phases, lost, fine }, marks: told.marks,
      until };
  }

  const words = (state) => I.words(state, (t) => F.clock(t, true));

  function row({ replica: r, state, missed }) {
    const asked = r.states.request;
    const num = (text) => h('td', { class: 'num', text });
    const times = R.PHASES.flatMap((phase) => {
      const p = r.phases[phase];
      return [num(F.seconds(p ? p.p50 : null)),
        num(F.seconds(p ? p.p99 : null))];
    });
    return h('tr', { 'data-level': state.level },
      h('th', { scope: 'row', text: R.nameOf(r) }),
      h('td', { class: 'pbft-verdict', text: words(state) }),
      num(asked > 0 ? F.count(asked) : asked === 0 ? 'no' : F.count(null)),
      num(F.count(r.states.execute)), num(F.count(missed)), ...times);
  }

  function table(list) {
    return h('table', { class: 'data-table pbft-replicas' },
      h('caption', { class: 'visually-hidden' },
        'Replicas in the last hour'),
      h('thead', {}, h('tr', {}, HEADS.map(([text,
        title], i) => h('th', { scope: 'col', class: i > 1 ? 'num' : null,
        text, title })))),
      h('tbody', {}, list.map(row)));
  }

  function troubles(list) {
    const bad = list.filter((r) => !I.isWell(r.state));
    const lost = list.reduce((sum, r) => sum + r.replica.lost, 0);
    const all = bad.some((r) => I.isTrouble(r.state)) ? '' : bad.length
      ? 'All replicas that run keep up. ' : 'All replicas keep up.';
    return all + (bad.length ? F.few(bad.map((r) => R.nameOf(r) + ': ' +
        words(r.state))) + '.' : '') +
      (lost > 0 ? ' ' + F.count(lost) + (lost === 1 ? ' phase is' :
        ' phases are') + ' not in the times.' : '');
  }

  function draw(loaded) {
    if (loaded === null) {
      shown = false;
      $('pbft-live-box').replaceChildren();
      $('pbft-live-note').textContent = 'Nothing of PBFT was recorded in ' +
        'the last hour: no replica runs that [pbft] of memlens.conf ' +
        'names, or its program has no symbols (health says which).';
      return;
    }
    const { near, marks, until } = loaded;
    const now = I.at(near, marks, until), rounds = { step: near.rounds.step,
      until };
    const list = now.keys.map(now.one).filter((r) => r.replica !== null &&
      !I.isPassing(r)).sort(R.byName);
    const spark = ns.spark.create();
    spark.set(ns.series.sum(now.clusters.map((c) => R.rate(c, rounds))), 0);
    shown = true;
    $('pbft-live-box').replaceChildren(h('div', { class: 'pbft-spark' },
      spark.node), h('div', { class: 'table-scroll', tabindex: '0',
      role: 'region', 'aria-label': 'Replicas' }, table(list)), h('p', {
      class: 'pbft-note', text: R.MEANS + ' ' + TIMES + '.' }));
    $('pbft-live-note').textContent = R.headlines(now, rounds).join(' ') +
      ' ' + troubles(list);
  }

  async function refresh() {
    clearTimeout(timer);
    try {
      draw(await load());
      $('pbft-live').dataset.state = 'live';
    } catch (e) {
      $('pbft-live').dataset.state = 'off';
      $('pbft-live-note').textContent = 'Not live: ' +
        (e.name === 'TypeError' ? 'there is nobody to ask' : e.message) +
        (shown ? '. Below is what was seen last.' : '.');
    }
    timer = setTimeout(refresh, REFRESH_MS);
  }

  function start() {
    document.addEventListener('visibilitychange', () =>
      (document.hidden ? clearTimeout(timer) : refresh()));
    if (location.protocol !== 'file:')
      return refresh();
    $('pbft-live').dataset.state = 'off';
    $('pbft-live-note').textContent = 'Not live: this page was opened from ' +
      'a file, and there is nobody to ask.';
    return undefined;
  }

  start();
})(globalThis.MemLens = globalThis.MemLens || {});
