/*
 * Time ranges: the API's time language, the presets of the interval picker,
 * and the step that fits a chart.  Pure; the present is always passed in, and
 * the length of a slot, too.  Times are Unix seconds, ranges are half-open.
 */
(function (ns) {
  'use strict';

  const SLOT_S = 10; /* of a store that does not say it */
  const LAST_S = 9223372036; /* in 2262; the API refuses later ones */
  const PRESETS = [
    ['now-5m', '5 m', '5 minutes'], ['now-15m', '15 m', '15 minutes'],
    ['now-1h', '1 h', '1 hour'], ['now-6h', '6 h', '6 hours'],
    ['now-12h', '12 h', '12 hours'], ['now-24h', '24 h', '24 hours']
  ].map(([from, label, name]) => ({ from, label, name }));
  const UNITS = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86400, w: 604800,
    y: 365 * 86400 };

  /* Seconds of s, ms, us or ns, told apart by their digits. */
  function fromDigits(text) {
    const len = text.split('.')[0].length;
    const t = Number(text) /
      (len <= 11 ? 1 : len <= 14 ? 1e3 : len <= 17 ? 1e6 : 1e9);
    return len <= 19 && t <= LAST_S ? t : NaN;
  }

  /* RFC 3339, with its offset; a blank is a "+" that nobody has encoded. */
  const DATE = new RegExp('^(\\d{4})-(\\d\\d)-(\\d\\d)[Tt ]' +
    '(\\d\\d):(\\d\\d):(\\d\\d)(\\.\\d+)?' +
    '(?:[Zz]|([-+ ])(\\d\\d):(\\d\\d))$');

  function fromDate(text) {
    const m = DATE.exec(text);
    if (!m)
      return NaN;
    const [year, month, day, hour, minute, second] = m.slice(1, 7)
      .map(Number);
    const ms = Date.UTC(year, month - 1, day, hour, minute, second);
    const midnight = new Date(Date.UTC(year, month - 1, day));
    if (midnight.getUTCDate() !== day || midnight.getUTCMonth() !== month - 1
      || hour > 23 || minute > 59 || second > 60 || m[9] > 23 || m[10] > 59)
      return NaN;
    const offset = m[8] ? (m[9] * 60 + Number(m[10])) * 60 : 0;
    const t = ms / 1000 + Number(m[7] || 0) +
      (m[8] === '-' ? offset : -offset);
    return t >= 0 && t <= LAST_S ? t : NaN;
  }

  /* Seconds of "90s", "3h30m". */
  function fromSpans(text) {
    return [...text.matchAll(/(\d+)(ms|[smhdwy])/g)]
      .reduce((sum, [, n, unit]) => sum + n * UNITS[unit], 0);
  }

  /* A time as the API takes or gives it; NaN when it is none. */
  function parse(value, now) {
    const text = String(value === null || value === undefined ? '' : value);
    const rel = /^now(?:-((?:\d+(?:ms|[smhdwy]))+))?$/.exec(text);
    if (rel)
      return rel[1] ? now - fromSpans(rel[1]) : now;
    return /^\d+(\.\d+)?$/.test(text) ? fromDigits(text) : fromDate(text);
  }

  function isRelative(text) {
    return /^now/.test(String(text));
  }

  /* A time on the grid of slots by way: Math.floor, ceil or round.  What is
   * a microsecond beside it is on it: seconds have no more digits. */
  function onGrid(t, slot, way) {
    const near = Math.round(t / slot);
    const k = Math.abs(t - near * slot) < 1e-6 ? near : way(t / slot);
    return Number((k * slot).toFixed(6));
  }

  /* The whole slots that a range touches. */
  function outward({ from, until }, slot = SLOT_S) {
    return { from: onGrid(from, slot, Math.floor),
      until: onGrid(until, slot, Math.ceil) };
  }

  /*
   * What from and until of the view mean at the time now: a time is what it
   * says, to the microsecond; "now" is the end of the newest whole slot, and
   * what is relative to it begins and ends with slots.  Nonsense becomes the
   * last hour; a range that ends before it begins stays one, and is refused
   * by who is asked for it.
   */
  function resolve(from, until, now, slot = SLOT_S) {
    const edge = onGrid(now, slot, Math.floor);
    const at = (text, way) => (isRelative(text)
      ? onGrid(parse(text, edge), slot, way) : parse(text, edge));
    let a = at(from, Math.floor), b = at(until, Math.ceil);
    if (!Number.isFinite(b))
      b = edge;
    a = Number.isFinite(a) ? Math.max(0, a) : b - 3600;
    return { from: a, until: b, follow: a < b && isRelative(until), slot };
  }

  /* The preset that shows all of a young store, at most an hour. */
  function presetFor(age) {
    const fits = PRESETS.find((p) => -parse(p.from, 0) >= age);
    return fits && -parse(fits.from, 0) < 3600 ? fits.from : 'now-1h';
  }

  /* Whole slots, at most about `points` of them in the span. */
  function step(span, points, slot = SLOT_S) {
    return Math.max(slot, onGrid(span / points, slot, Math.ceil));
  }

  /* After how long such a chart is worth asking for again: until its newest
   * step has moved by a quarter. */
  function refresh(span, points, slot = SLOT_S) {
    return onGrid(step(span, points, slot) / 4, slot, Math.ceil);
  }

  /* The range scaled about its middle (or `at`) and moved by a fraction. */
  function transform(range, scale, shift, { at, slot = SLOT_S } = {}) {
    const span = range.until - range.from;
    const middle = at === undefined ? range.from + span / 2 : at;
    const grown = Math.max(slot * 3, span * scale);
    const left = middle - grown * ((middle - range.from) / span) +
      shift * span;
    const from = onGrid(left, slot, Math.round);
    return { from, until: onGrid(from + grown, slot, Math.round) };
  }

  /* What of a range lies in `whole`; the range itself, and `outside`, where
   * nothing does. */
  function within({ from, until }, whole) {
    const a = Math.max(from, whole.from), b = Math.min(until, whole.until);
    return from >= until ? { from, until }
      : a < b ? { from: a, until: b } : { from, until, outside: true };
  }

  /* What {from, until, why} say of a range: cut to it, those that touch or
   * overlap as one, in order. */
  function stretches(list, range) {
    const out = [];
    for (const p of list.map((x) => Object.assign({}, x, {
      from: Math.max(x.from, range.from),
      until: Math.min(x.until, range.until) })).sort((x, y) =>
      (x.why < y.why ? -1 : x.why > y.why ? 1 : x.from - y.from))) {
      const last = out[out.length - 1];
      if (p.from >= p.until)
        continue;
      if (last && last.why === p.why && p.from <= last.until)
        last.until = Math.max(last.until, p.until);
      else
        out.push(p);
    }
    return out.sort((x, y) => x.from - y.from);
  }

  /* For <input type="datetime-local">, in local time. */
  function toInput(t) {
    return ns.format.day(t) + 'T' + ns.format.clock(t, true) +
      ns.format.fraction(t).slice(0, 4);
  }

  function fromInput(text) {
    return Date.parse(text) / 1000;
  }

  ns.time = {
    SLOT_S, PRESETS, parse, isRelative, resolve, step, refresh, transform,
    within, onGrid, outward, toInput, fromInput, presetFor, stretches
  };
})(globalThis.MemLens = globalThis.MemLens || {});
