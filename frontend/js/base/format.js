/*
 * Numbers, units and times as people read them.  Pure: every function maps a
 * value in its base unit (seconds, bytes, ratio) to text.  null and NaN are
 * "no data"; 0 is a value like any other.
 */
(function (ns) {
  'use strict';

  const NO_DATA = 'no data';
  const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const DECIMAL = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

  function known(v) {
    return typeof v === 'number' && Number.isFinite(v);
  }

  /* Three significant digits, never an exponent. */
  function digits(v) {
    const a = Math.abs(v);
    if (a === 0)
      return '0';
    if (a >= 100)
      return String(Math.round(v));
    if (a >= 10)
      return trim(v.toFixed(1));
    if (a >= 0.01)
      return trim(v.toFixed(2));
    return trim(v.toFixed(4));
  }

  function trim(s) {
    return s.includes('.') ? s.replace(/\.?0+$/, '') : s;
  }

  function bytes(v) {
    if (!known(v))
      return NO_DATA;
    let i = 0, n = v;
    while (Math.abs(n) >= 1023.5 && i < BINARY.length - 1) {
      n /= 1024;
      i++;
    }
    return digits(i === 0 ? Math.round(n) : n) + ' ' + BINARY[i];
  }

  function byteRate(v) {
    return known(v) ? bytes(v) + '/s' : NO_DATA;
  }

  /* A ratio (1 is everything) as percent. */
  function percent(v) {
    if (!known(v))
      return NO_DATA;
    const p = v * 100;
    if (p > 0 && p < 0.01)
      return '< 0.01 %';
    if (p < 100 && p >= 99.995)
      return '99.99 %';
    return (Math.abs(p) >= 10 ? trim(p.toFixed(1)) : digits(p)) + ' %';
  }

  function seconds(v) {
    if (!known(v))
      return NO_DATA;
    const a = Math.abs(v);
    if (a === 0)
      return '0 s';
    if (a < 0.9995e-3)
      return digits(v * 1e6) + ' µs';
    if (a < 0.9995)
      return digits(v * 1e3) + ' ms';
    if (a < 120)
      return digits(v) + ' s';
    return duration(v);
  }

  /* Seconds in one unit, so that a column of them can be compared. */
  function fixedSeconds(v) {
    return known(v) ? v.toLocaleString('en-US',
      { minimumFractionDigits: 2, maximumFractionDigits: 2 }) + ' s'
      : NO_DATA;
  }

  /* A span in its two largest units: "1 h 5 min". */
  function duration(v) {
    if (!known(v))
      return NO_DATA;
    let s = Math.round(Math.abs(v));
    const parts = [];
    for (const [size, unit] of
      [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']]) {
      const n = Math.floor(s / size);
      s -= n * size;
      if (n > 0)
        parts.push(n + ' ' + unit);
      else if (parts.length)
        break;
    }
    return parts.length ? parts.slice(0, 2).join(' ') : '0 s';
  }

  function count(v) {
    return known(v) ? Math.round(v).toLocaleString('en-US') : NO_DATA;
  }

  function compact(v) {
    if (!known(v))
      return NO_DATA;
    for (const [size, unit] of DECIMAL)
      if (Math.abs(v) >= size * 0.9995)
        return digits(v / size) + ' ' + unit;
    return digits(v);
  }

  function perSecond(v) {
    return known(v) ? compact(v) + '/s' : NO_DATA;
  }

  function pad(n) {
    return String(n).padStart(2, '0');
  }

  /* Local wall clock of a Unix time; seconds only where they tell. */
  function clock(t, withSeconds) {
    const d = new Date(t * 1000);
    const s = pad(d.getHours()) + ':' + pad(d.getMinutes());
    return withSeconds ? s + ':' + pad(d.getSeconds()) : s;
  }

  /* What a clock of whole seconds leaves out: ".5"; "" on a whole one. */
  function fraction(t) {
    const us = Math.round((t - Math.floor(t)) * 1e6);
    return us > 0 && us < 1e6
      ? trim('.' + String(us).padStart(6, '0')) : '';
  }

  function day(t) {
    const d = new Date(t * 1000);
    return d.getFullYear() + '-' + pad(d.getMonth() + 1) + '-' +
      pad(d.getDate());
  }

  function dateTime(t) {
    return known(t) ? day(t) + ' ' + clock(t, true) : NO_DATA;
  }

  /* [from, until) on one line; the day is repeated only when it changes. */
  function range(from, until) {
    const fine = until - from < 3600 || from % 60 !== 0 || until % 60 !== 0;
    const at = (t) => clock(t, fine) + fraction(t);
    const tail = day(from) === day(until)
      ? at(until) : day(until) + ' ' + at(until);
    return day(from) + ' ' + at(from) + ' – ' + tail;
  }

  /* The zone in which all times here are read: that of the browser. */
  function zone(t) {
    const part = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
      .formatToParts(new Date(t * 1000))
      .find((p) => p.type === 'timeZoneName');
    return part ? part.value : '';
  }

  /* The number and its unit apart, so that a card can set them apart. */
  function split(text) {
    const at = text.search(/ \D*$/);
    return at > 0 && /\d/.test(text[at - 1])
      ? [text.slice(0, at), text.slice(at + 1)] : [text, ''];
  }

  /*
   * A name that strangers gave, fit to be shown: what would act instead of
   * being seen (control characters, changes of the writing direction, line
   * separators) is written out, as the server does in text.
   */
  const ACTS = new RegExp('[\\u0001-\\u0008\\u000b-\\u001f\\u007f-\\u009f' +
    '\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060\\u2066-\\u2069\\ufeff]', 'g');

  function visible(text) {
    return String(text).replace(ACTS, (c) => '\\u' +
      c.charCodeAt(0).toString(16).padStart(4, '0'));
  }

  /* "a; b and 3 more": the first of many, in a sentence. */
  function few(items, between = '; ', most = 5) {
    const more = items.length > most + 1 ? items.length - most : 0;
    return items.slice(0, more ? most : items.length).join(between) +
      (more ? ' and ' + count(more) + ' more' : '');
  }

  ns.format = {
    few, visible, NO_DATA, known, bytes, byteRate, percent, seconds, fixedSeconds,
    duration, count, compact, perSecond, clock, fraction, day, dateTime,
    range, zone, split
  };
})(globalThis.MemLens = globalThis.MemLens || {});
