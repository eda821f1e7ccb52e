/*
 * Time ranges: the API's time language, the presets of the interval picker,
 * and the step that fits a chart.  Pure; the present is always passed in.
 * Times are Unix seconds, ranges are half-open.
 */
(function (ns) {
  'use strict';

  const SLOT_S = 10;
  const PRESETS = [
    ['now-5m', '5 m', '5 minutes'], ['now-15m', '15 m', '15 minutes'],
    ['now-1h', '1 h', '1 hour'], ['now-6h', '6 h', '6 hours'],
    ['now-12h', '12 h', '12 hours'], ['now-24h', '24 h', '24 hours']
  ].map(([from, label, name]) => ({ from, label, name }));
  const UNITS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

  /* Seconds of s, ms, us or ns, told apart by their digits. */
  function fromDigits(text) {
    const n = Number(text);
    const len = text.split('.')[0].length;
    if (len <= 11)
      return n;
    return n / (len <= 14 ? 1e3 : len <= 17 ? 1e6 : 1e9);
  }

  /* A time as the API takes or gives it; NaN when it is none. */
  function parse(value, now) {
    const text = String(value === null || value === undefined ? '' : value);
    const rel = /^now(?:-(\d+)([smhdw]))?$/.exec(text);
    if (rel)
      return rel[1] ? now - Number(rel[1]) * UNITS[rel[2]] : now;
    if (/^\d+(\.\d+)?$/.test(text))
      return fromDigits(text);
    return /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) / 1000 : NaN;
  }

  function isRelative(text) {
    return /^now/.test(String(text));
  }

  /*
   * What from and until of the view mean at the time now: whole slots.
   * Nonsense becomes the last hour; a range that ends before it begins stays
   * one, and is refused by who is asked for it.
   */
  function resolve(from, until, now) {
    const edge = Math.floor(now / SLOT_S) * SLOT_S;
    let a = parse(from, edge), b = parse(until, edge);
    if (!Number.isFinite(b))
      b = edge;
    a = Number.isFinite(a) ? Math.max(0, a) : b - 3600;
    if (a >= b)
      return { from: a, until: b, follow: false };
    a = Math.floor(a / SLOT_S) * SLOT_S;
    b = Math.max(a + SLOT_S, Math.floor(b / SLOT_S) * SLOT_S);
    return { from: a, until: b, follow: isRelative(until) };
  }

  /* The preset that shows all of a young store, at most an hour. */
  function presetFor(age) {
    const fits = PRESETS.find((p) => -parse(p.from, 0) >= age);
    return fits && -parse(fits.from, 0) < 3600 ? fits.from : 'now-1h';
  }

  /* Whole slots, at most about `points` of them in the span. */
  function step(span, points) {
    return Math.max(1, Math.ceil(span / points / SLOT_S)) * SLOT_S;
  }

  /* The range scaled about its middle (or `at`) and moved by a fraction. */
  function transform(range, scale, shift, at) {
    const span = range.until - range.from;
    const middle = at === undefined ? range.from + span / 2 : at;
    const grown = Math.max(SLOT_S * 3, span * scale);
    const left = middle - grown * ((middle - range.from) / span) +
      shift * span;
    const from = Math.round(left / SLOT_S) * SLOT_S;
    return { from, until: from + Math.round(grown / SLOT_S) * SLOT_S };
  }

  /* The common part of two ranges; all of `whole` where there is none. */
  function within(range, whole) {
    if (range.from >= range.until)
      return { from: range.from, until: range.until };
    const from = Math.max(range.from, whole.from);
    const until = Math.min(range.until, whole.until);
    return from < until ? { from, until }
      : { from: whole.from, until: whole.until };
  }

  /* For <input type="datetime-local">, in local time. */
  function toInput(t) {
    return ns.format.day(t) + 'T' + ns.format.clock(t, true);
  }

  function fromInput(text) {
    return Date.parse(text) / 1000;
  }

  ns.time = {
    SLOT_S, PRESETS, parse, isRelative, resolve, step, transform, within,
    toInput, fromInput, presetFor
  };
})(globalThis.MemLens = globalThis.MemLens || {});
