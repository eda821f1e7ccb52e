/*
 * What an answer of the flame graph interface means in words and units.
 * Pure.
 */
(function (ns) {
  'use strict';

  const T = ns.flameTree, F = ns.format;

  function time(scale, samples) {
    return { samples, rate: 1 / scale, text: (v) => F.seconds(v / scale),
      cell: (v) => F.fixedSeconds(v / scale) };
  }

  /*
   * How ticks of an answer read: {text(v), cell(v) for tables, samples}.
   * Ticks of a time profile are samples of a period; a period of 1 ns is a
   * mixture of several, whose ticks are nanoseconds.
   */
  function unitOf(answer) {
    const m = answer.memlens || {}, meta = answer.metadata || {};
    const unit = m.unit || meta.units || 'samples';
    const period = m.period_ns || m.period;
    if (unit === 'nanoseconds' && period)
      return time(1e9 / period, period > 1);
    if (unit === 'nanoseconds')
      return time(1e9, false);
    if (unit === 'samples' && meta.sampleRate > 0)
      return time(meta.sampleRate, true);
    const text = unit === 'bytes' ? F.bytes : F.count;
    return { text, cell: text, samples: unit === 'samples' };
  }

  function lostText(lost) {
    return Object.entries(lost || {}).filter(([, n]) => n > 0)
      .map(([why, n]) => F.count(n) + ' ' + why.replace(/[_-]/g, ' '));
  }

  /* Stacks that lack callers, of the whole host where `whose` says so: their
   * samples count. */
  function brokenText(broken, whose) {
    const list = lostText(broken);
    const n = Object.values(broken || {}).reduce((a, b) => a + b, 0);
    return list.length === 0 ? null : { text: F.count(n) +
      (n === 1 ? ' stack' : ' stacks') +
      (whose === 'service' ? '' : ' on the host') + ' not whole',
    why: list.join(', ') };
  }

  /* What damage has taken from an answer: null, or words and the whole list
   * (api/v1's "partial"). */
  function partialText(list) {
    if (!Array.isArray(list) || list.length === 0)
      return null;
    const each = list.map((p) => F.range(ns.time.parse(p.from, 0),
      ns.time.parse(p.until, 0)) + ': ' + p.why);
    return { text: 'partial: ' + (list.length === 1 ? '1 stretch'
      : F.count(list.length) + ' stretches') + ' damaged', why: each.join('\n') };
  }

  /* "No data", "0 samples" and "not attached" are three different facts. */
  function emptyText(answer) {
    const m = answer.memlens || {};
    const told = m.state || answer.state;
    /* A profiler that samples less often has data all the same. */
    const state = told && told !== 'degraded' ? told
      : m.slots > 0 ? 'zero' : 'no data';
    if (state === 'zero' || state === 'data')
      return '0 samples in this range; the probe was active.';
    if (state === 'partial')
      return 'No data is left: what was recorded in this range is damaged.';
    if (state === 'no data')
      return 'No data: nothing was recorded in this range.';
    return 'The CPU profiler is ' + state + (m.why ? ': ' + m.why : '') + '.';
  }

  /*
   * A frame as it stands in the address: hashes of the names on its path,
   * short and without the names' many characters.
   */
  function pathCode(f, i) {
    return T.path(f, i).slice(1)
      .map((k) => ns.colour.hash(f.names[f.name[k]]).toString(36)).join('.');
  }

  /* The frame of a code in another tree, as far as its path goes. */
  function pathFrame(f, code) {
    let at = 0;
    for (const part of code ? code.split('.') : []) {
      const next = T.children(f, at).find((c) =>
        ns.colour.hash(f.names[f.name[c]]).toString(36) === part);
      if (next === undefined)
        return at;
      at = next;
    }
    return at;
  }

  ns.flameFacts = { unitOf, lostText, brokenText, partialText, emptyText,
    pathCode, pathFrame };
})(globalThis.MemLens = globalThis.MemLens || {});
