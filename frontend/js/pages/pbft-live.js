/*
 * The live side of the PBFT page: what replicas of this host do, beside the
 * model of what they should.  Where nobody answers it says that it is not
 * live, and keeps what it had.
 */
(function (ns) {
  'use strict';

  const { $, h } = ns.dom;
  const F = ns.format, R = ns.pbftRounds;
  const SPAN_S = 600, REFRESH_MS = 10000, TIMEOUT_MS = 8000;
  const HEADS = ['Replica', 'State', 'Proposes', 'Executed', 'Behind',
    'Prepare p50', 'p99', 'Commit p50', 'p99', 'Execute p50', 'p99'];
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
    const range = { from: 'now-' + SPAN_S + 's', until: 'now' };
    const whole = { ...range, step: SPAN_S + 's' };
    const rounds = await ask('series', { query: 'pbft_rounds_total',
      fn: 'increase', ...range, step: '10s' });
    if (!rounds.series.length)
      return { rounds };
    const [phases, lost, executed] = await Promise.all([
      ask('percentiles', { query: 'pbft_phase_seconds', ...whole }),
      ask('series', { query: 'memlens_pbft_lost_total', fn: 'increase',
        ...whole }),
      ask('series', { ...R.EXECUTED, ...whole })]);
    return { rounds, phases, lost, executed };
  }

  const words = (v) => R.words(v, (t) => F.clock(t, true));

  function nameOf(r) {
    return r.service + (r.instance ? ' ' + r.instance : '');
  }

  function row(r) {
    const asked = r.states.request;
    const num = (text) => h('td', { class: 'num', text });
    const times = R.PHASES.flatMap((phase) => {
      const p = r.phases[phase];
      return [num(F.seconds(p ? p.p50 : null)),
        num(F.seconds(p ? p.p99 : null))];
    });
    return h('tr', { 'data-level': r.verdict.level },
      h('th', { scope: 'row', text: nameOf(r) }),
      h('td', { class: 'pbft-verdict',
        text: words(r.verdict) }),
      num(asked > 0 ? F.count(asked) : asked === 0 ? 'no' : F.count(null)),
      num(F.count(r.states.execute)), num(F.count(r.behind)), ...times);
  }

  function table(list) {
    return h('table', { class: 'data-table pbft-replicas' },
      h('caption', { class: 'visually-hidden' },
        'Replicas in the last ten minutes'),
      h('thead', {}, h('tr', {}, HEADS.map((text, i) =>
        h('th', { scope: 'col', class: i > 1 ? 'num' : null, text })))),
      h('tbody', {}, list.map(row)));
  }

  function sentence(list, col) {
    const now = ns.series.last(col);
    const who = list.filter((r) => r.states.request > 0).map(nameOf);
    const bad = list.filter((r) => r.verdict.level !== 'ok');
    const lost = list.reduce((sum, r) => sum + r.lost, 0);
    return F.perSecond(now).replace('/s', ' rounds a second') + '; ' +
      (who.length ? F.few(who, ', ') + (who.length > 1 ? ' propose'
        : ' proposes') : 'nobody proposes') + '. ' +
      (bad.length ? F.few(bad.map((r) => nameOf(r) + ': ' +
        words(r.verdict))) + '.' : 'All replicas keep up.') +
      (lost > 0 ? ' ' + F.count(lost) + (lost === 1 ? ' phase is' :
        ' phases are') + ' not in the times.' : '');
  }

  function draw({ rounds, phases, lost, executed }) {
    if (!rounds.series.length) {
      shown = false;
      $('pbft-live-box').replaceChildren();
      $('pbft-live-note').textContent = 'Nothing of PBFT was recorded in ' +
        'the last ten minutes: no replica runs that [pbft] of memlens.conf ' +
        'names, or its program has no symbols (health says which).';
      return;
    }
    const list = R.replicas(rounds, phases, lost, executed), col = R.rate(rounds);
    const spark = ns.spark.create();
    spark.set(col, 0);
    shown = true;
    $('pbft-live-box').replaceChildren(h('div', { class: 'pbft-spark' },
      spark.node), h('div', { class: 'table-scroll', tabindex: '0',
      role: 'region', 'aria-label': 'Replicas' }, table(list)));
    $('pbft-live-note').textContent = sentence(list, col);
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
