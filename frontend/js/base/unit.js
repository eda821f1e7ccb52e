/*
 * What amounts are in, and how they read: of metrics and of profiles, in the
 * words of api/v1.  Pure.  A unit that is not in the table is its own: the
 * number, and the word.
 */
(function (ns) {
  'use strict';

  const F = ns.format;
  const whole = (v) => (Number.isInteger(v) ? F.count(v) : F.compact(v));
  /* text(v), or how many of them are a second */
  const UNITS = {
    nanoseconds: { inSecond: 1e9 }, seconds: { inSecond: 1 },
    bytes: { text: F.bytes }, 'bytes/s': { text: F.byteRate },
    ratio: { text: F.percent }, count: { text: whole },
    samples: { text: whole }, '': { text: F.compact },
    '/s': { text: F.perSecond }
  };
  const RATES = { seconds: 'ratio', count: '/s', samples: '/s' };
  const known = (unit) => (Object.hasOwn(UNITS, unit) ? UNITS[unit] : {});

  /* How many are a second; 0 where it is no time. */
  function inSecond(unit) {
    return known(unit).inSecond || 0;
  }

  function text(v, unit) {
    const u = known(unit);
    if (!F.known(v))
      return F.NO_DATA;
    return u.inSecond ? F.seconds(v / u.inSecond) : u.text ? u.text(v)
      : whole(v) + ' ' + unit;
  }

  /* In a column, whose rows are compared. */
  function cell(v, unit) {
    const n = inSecond(unit);
    return n && F.known(v) ? F.fixedSeconds(v / n) : text(v, unit);
  }

  /* The unit of so much a second, and what a rate has counted. */
  function rate(unit) {
    return RATES[unit] || unit + '/s';
  }

  function each(unit) {
    return unit === 'ratio' ? 'seconds' : unit.replace('/s', '');
  }

  ns.unit = { inSecond, text, cell, rate, each };
})(globalThis.MemLens = globalThis.MemLens || {});
