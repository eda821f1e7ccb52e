/*
 * What an answer of the flame graph interface means in words and units.
 * Pure.
 */
(function (ns) {
  'use strict';

  const T = ns.flameTree, F = ns.format;
  /* So small a part of a range unwatched is not worth a word. */
  const WATCHED_NOTED = 0.005;

  /* What an amount of one period is in samples; null where that is not known:
   * of several periods, of bytes, of what was pushed without one. */
  function counted(m, rate) {
    if (m.unit === 'samples')
      return (v) => v;
    const { period } = m;
    const n = ns.unit.inSecond(m.unit);
    const ticks = n ? period * rate / n : period;
    return period > 1 && ticks > 0 ? (v) => Math.round(v / ticks)
      : () => null;
  }

  /*
   * How amounts of an answer read: {text(v), cell(v) for tables, perSecond(v)
   * a second, samples(v): how many samples an amount is of, or null, and over
   * time value(v, seconds) that show(value)s}: of a stock so much, of what
   * adds up so much a second.  `m` is what the answer, or one side of it, says
   * of itself; recordings of before have ticks of a sample, at a rate of less.
   */
  function unitOf(answer, m = answer.memlens || {}) {
    const meta = answer.metadata || {}, hz = meta.sampleRate, U = ns.unit;
    const unit = m.unit || meta.units || 'samples', stock = m.kind === 'stock';
    const counts = !m.unit && unit === 'samples';
    const time = U.inSecond(unit) > 0 || counts && hz > 0;
    const [rate, base] = !time ? [1, unit]
      : [hz > 0 ? hz : U.inSecond(unit), 'seconds'];
    const show = (v) => U.text(v, stock ? base : U.rate(base));
    return { text: (v) => U.text(v / rate, base),
      cell: (v) => U.cell(v / rate, base), perSecond: (v) => show(v / rate),
      value: (v, s) => v / (stock ? rate : rate * s), show,
      states: !!m.parts, samples: counts && time ? (v) => v
        : counted({ unit, period: m.period || m.period_ns }, rate) };
  }

  /* The samples of frame i of a tree, or of a row of functions, itself (key
   * "self") or with what it calls ("total"): what the answer says of it, else
   * what its amount is of; null where nobody knows. */
  function samplesOf(unit, of, key) {
    const said = of[key + '_samples'];
    return said === undefined ? unit.samples(of[key]) : said;
  }

  function frameSamples(unit, f, i, key = 'total') {
    const said = f[key + 'Samples'];
    return said ? said[i] : unit.samples(f[key][i]);
  }

  /* A count of samples beside which there is an amount of an unknown one. */
  function countText(n, unknown) {
    return (unknown > 0 ? 'at least ' : '') + F.count(n);
  }

  /* The samples of frame i in words; null where nobody knows. */
  function frameCount(unit, f, i) {
    const n = frameSamples(unit, f, i);
    return n === null ? null : countText(n, !unit.states && f.totalUnknown &&
      f.totalUnknown[i]);
  }

  /* Of wall time: what of frame i is no sample on a CPU, as a part of it. */
  function offShare(f, i) {
    return f.totalUnknown && f.total[i] > 0
      ? f.totalUnknown[i] / f.total[i] : 0;
  }

  /* Which waits have stacks; '' where nobody said. */
  function thresholdText(m) {
    const t = m.threshold_seconds;
    return t ? 'stacks of waits from ' + ns.series.between([t.min, t.max],
      (v) => ns.unit.text(v, 'seconds')) : '';
  }

  /* That a part of the range has no time off CPU; null where all has. */
  function partsText(m) {
    return m.parts && m.whole_slots < m.slots ? { text: 'CPU time alone in ' +
      F.count(m.slots - m.whole_slots) + ' of ' + F.count(m.slots) +
      ' slots', why: m.why } : null;
  }

  /* That records were lost of which some may have been of what is shown;
   * null where none was. */
  function incompleteText(m) {
    return m.incomplete ? { text: 'incomplete', why: m.why } : null;
  }

  /* By reason; which of them are the whole host's, whoever is asked for. */
  function lostText(lost, host) {
    return Object.entries(lost || {}).filter(([, n]) => n > 0)
      .map(([why, n]) => F.count(n) + ' ' + why.replace(/[_-]/g, ' ') +
        (host && host[why] > 0 ? ' on the host' : ''));
  }

  const sum = (of) => Object.values(of || {}).reduce((a, b) => a + b, 0);

  /* What the lost samples of memory stand for, ', 3 MiB'; '' where none was.
   * Those that are the whole host's may be others': it is the most that of
   * this was lost. */
  function lostAmount(m) {
    const key = m.unit === 'count' ? 'lost_objects' : 'lost_bytes';
    const lost = sum(m[key]), host = sum(m[key + '_on_host']);
    return !(lost > 0) ? '' : ', ' + (host > 0 && m.faults === 'service'
      ? 'at most ' : '') + ns.unit.text(lost, m.unit === 'count' ? 'count'
      : 'bytes');
  }

  /* That not all of a service's processes have the library that tells of their
   * memory; null where all have, or it is not the library's. */
  function observedText(m) {
    const { processes, resident } = m.observed || {};
    if (typeof processes !== 'number' || processes >= 1)
      return null;
    return { text: 'observed: ' + (typeof resident === 'number'
      ? F.percent(resident) + ' of its resident memory'
      : F.percent(processes) + ' of its processes'),
    why: F.percent(processes) + ' of the processes of this service have the ' +
      'library that memlens run loads. What the others ask their allocator ' +
      'for is not in what the library tells.' };
  }

  /* That threads were not watched, or CPU time was not sampled, in all of the
   * slots, each so many seconds, that have data: the profiler began or ended in
   * one; else null. */
  function watchedText(m, slot) {
    const of = m.slots * slot, seen = m.watched_seconds;
    if (typeof seen !== 'number' || !(of - seen > of * WATCHED_NOTED))
      return null;
    const waits = m.threshold_seconds !== undefined;
    return { text: (waits ? 'threads watched' : 'CPU time sampled') + ' for ' +
      ns.unit.text(seen, 'seconds') + ' of ' + ns.unit.text(of, 'seconds'),
    why: (waits ? 'What threads waited for' : 'What ran') + ' in the rest of ' +
      'these ' + F.count(m.slots) + ' slots nobody has seen: the profiler ' +
      'was started or stopped in them.' };
  }

  /* Stacks that lack callers, of the whole host where `whose` says so: their
   * samples count. */
  function brokenText(broken, whose) {
    const list = lostText(broken);
    const n = sum(broken);
    return list.length === 0 ? null : { text: F.count(n) +
      (n === 1 ? ' stack' : ' stacks') +
      (whose === 'service' ? '' : ' on the host') + ' not whole',
    why: list.join(', ') };
  }

  /* How much of the CPU time that the kernel counted was sampled; null where
   * nobody counted, and of so few samples that it says nothing (+-10 %). */
  function coverageText(m) {
    if (typeof m.coverage !== 'number' || !(m.total_samples >= 100))
      return null;
    const share = F.percent(m.coverage);
    return { text: (m.calibrated ? 'calibrated: ' : '') + share +
      ' of its CPU time seen', why: 'The kernel counted ' +
      ns.unit.text(m.cpu_seconds, 'seconds') + ' of CPU time here, of which ' +
      'the ticks of the profiler show ' + share + '. What timers wake runs ' +
      'between ticks more often than others, above all in virtual machines; ' +
      'what ended within a second of its start may be in ticks alone.' };
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

  /* "No data", "0 samples" and "not attached" are three different facts, of
   * a type of this title. */
  function emptyText(answer, title) {
    const m = answer.memlens || {};
    const told = m.state || answer.state;
    /* A profiler that samples less often has data all the same. */
    const state = told && told !== 'degraded' ? told
      : m.slots > 0 ? 'zero' : 'no data';
    if (state === 'zero' || state === 'data')
      return '0 samples in this range; the probe was active' +
        (m.why ? ': ' + m.why : '') + '.';
    if (state === 'partial')
      return 'No data is left: what was recorded in this range is damaged.';
    if (state === 'no data')
      return 'No data: ' + (m.why || 'nothing was recorded in this range') +
        '.';
    return 'The profiler of ' + title + ' is ' + state + (m.why ? ': ' + m.why : '') + '.';
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

  ns.flameFacts = { unitOf, samplesOf, frameSamples, countText, frameCount,
    lostText, lostAmount, observedText, watchedText, brokenText,
    coverageText, partialText, incompleteText, offShare,
    thresholdText, partsText, emptyText, pathCode, pathFrame };
})(globalThis.MemLens = globalThis.MemLens || {});
