/*
 * The live side of the PBFT page: what replicas of this host do, beside the
 * model of what they should.  Where nobody answers it says that it is not
 * live, and keeps what it had.
 */
(function (ns) {
  'use strict';

  const { $, h } = ns.dom;
  const F = ns.format, R = ns.pbftRounds;
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

  /* A step is all of the range, or a part that shows how it went. */
  async function load() {
    const last = (s) => ({ from: 'now-' + s + 's', until: 'now' });
    const rounds = await ask('series', { query: 'pbft_rounds_total',
      fn: 'increase', ...last(R.SPAN_S), step: '10s' });
    if (!rounds.series.length)
      return { rounds };
    const whole = { ...last(TIMES_S), step: TIMES_S + 's' };
    const [phases, lost] = await Promise.all([
      ask('percentiles', { query: 'pbft_phase_seconds', ...whole }),
      ask('series', { query: 'memlens_pbft_lost_total', fn: 'increase',
        ...whole })]);
    return { rounds, phases, lost };
  }

  const words = (v) => R.words(v, (t) => F.clock(t, true));

  function row(r) {
    const asked = r.states.request;
    const num = (text) => h('td', { class: 'num', text });
    const times = R.PHASES.flatMap((phase) => {
      const p = r.phases[phase];
      return [num(F.seconds(p ? p.p50 : null)),
        num(F.seconds(p ? p.p99 : null))];
    });
    return h('tr', { 'data-level': r.verdict.level },
      h('th', { scope: 'row', text: R.nameOf(r) }),
      h('td', { class: 'pbft-verdict',
        text: words(r.verdict) }),
      num(asked > 0 ? F.count(asked) : asked === 0 ? 'no' : F.count(null)),
      num(F.count(r.states.execute)), num(F.count(r.missed)), ...times);
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

  const sentence = (all, step) => R.headlines(all, step).join(' ') + ' ' +
    troubles(all.list);

  function troubles(list) {
    const bad = list.filter((r) => r.verdict.level !== 'ok');
    const lost = list.reduce((sum, r) => sum + r.lost, 0);
    return (bad.length ? F.few(bad.map((r) => R.nameOf(r) + ': ' +
        words(r.verdict))) + '.' : 'All replicas keep up.') +
      (lost > 0 ? ' ' + F.count(lost) + (lost === 1 ? ' phase is' :
        ' phases are') + ' not in the times.' : '');
  }

  function draw({ rounds, phases, lost }) {
    if (!rounds.series.length) {
      shown = false;
      $('pbft-live-box').replaceChildren();
      $('pbft-live-note').textContent = 'Nothing of PBFT was recorded in ' +
        'the last hour: no replica runs that [pbft] of memlens.conf ' +
        'names, or its program has no symbols (health says which).';
      return;
    }
    const all = R.all(rounds, phases, lost);
    const spark = ns.spark.create();
    spark.set(ns.series.sum(all.clusters.map((c) => R.rate(c, rounds.step))),
      0);
    shown = true;
    $('pbft-live-box').replaceChildren(h('div', { class: 'pbft-spark' },
      spark.node), h('div', { class: 'table-scroll', tabindex: '0',
      role: 'region', 'aria-label': 'Replicas' }, table(all.list)), h('p', {
      class: 'pbft-note', text: R.MEANS + ' ' + TIMES + '.' }));
    $('pbft-live-note').textContent = sentence(all, rounds.step);
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
