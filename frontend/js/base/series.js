/*
 * Arithmetic on the answers of api/v1/series.  Pure.  A column is
 * {labels, unit, t: [seconds], v: [number or null]}; null is a gap and stays
 * one: it is never counted as 0.
 */
(function (ns) {
  'use strict';

  function columns(answer) {
    const list = answer && Array.isArray(answer.series) ? answer.series : [];
    return list.map((s) => ({
      name: s.name, labels: s.labels || {}, unit: s.unit || '',
      t: (s.points || []).map((p) => p[0]),
      v: (s.points || []).map((p) => p[1])
    }));
  }

  /* "data", "no data" or "not attached" - three different answers; one from
   * damaged files that has values is data. */
  function state(answer) {
    if (!answer)
      return 'no data';
    const some = columns(answer).some((c) => c.v.some((v) => v !== null));
    if (answer.state && answer.state !== 'ok' &&
        !(answer.state === 'partial' && some))
      return answer.state;
    const list = answer.series || [];
    const apart = list.find((s) => s.state && s.state !== 'ok');
    if (list.length && apart)
      return apart.state;
    return some ? 'data' : 'no data';
  }

  /* The times of all columns, ascending. */
  function axis(cols) {
    const set = new Set();
    for (const c of cols)
      for (const t of c.t)
        set.add(t);
    return [...set].sort((a, b) => a - b);
  }

  /* The column's values at the given times; null where it has none. */
  function align(col, times) {
    const at = new Map(col.t.map((t, i) => [t, col.v[i]]));
    return times.map((t) => {
      const v = at.get(t);
      return v === undefined ? null : v;
    });
  }

  function fold(cols, times, add) {
    const rows = cols.map((c) => align(c, times));
    return times.map((_, i) => rows.reduce((acc, row) =>
      row[i] === null ? acc : acc === null ? row[i] : add(acc, row[i]),
    null));
  }

  /* Point by point; null only where every column has a gap. */
  function sum(cols, times) {
    const t = times || axis(cols);
    return { labels: {}, unit: cols.length ? cols[0].unit : '', t,
      v: fold(cols, t, (a, b) => a + b) };
  }

  function zip(a, b, f) {
    const t = axis([a, b]);
    const av = align(a, t), bv = align(b, t);
    return { labels: a.labels, unit: '', t,
      v: t.map((_, i) => av[i] === null || bv[i] === null
        ? null : f(av[i], bv[i])) };
  }

  /* a / b; no data where b is 0: a mean over nothing is not 0. */
  function ratio(a, b) {
    return zip(a, b, (x, y) => (y === 0 ? null : x / y));
  }

  function scale(col, k) {
    return Object.assign({}, col,
      { v: col.v.map((v) => (v === null ? null : v * k)) });
  }

  function last(col) {
    if (col)
      for (let i = col.v.length - 1; i >= 0; i--)
        if (col.v[i] !== null && col.v[i] !== undefined)
          return col.v[i];
    return null;
  }

  function total(col) {
    const seen = col ? col.v.filter((v) => v !== null) : [];
    return seen.length ? seen.reduce((a, b) => a + b, 0) : null;
  }

  function extent(col) {
    const seen = col.v.filter((v) => v !== null);
    return seen.length
      ? { min: Math.min(...seen), max: Math.max(...seen),
        mean: seen.reduce((a, b) => a + b, 0) / seen.length,
        gaps: col.v.length - seen.length }
      : null;
  }

  /* Columns by the value of a label, in order of appearance. */
  function by(cols, label) {
    const groups = new Map();
    for (const c of cols) {
      const k = c.labels[label] === undefined ? '' : c.labels[label];
      groups.set(k, (groups.get(k) || []).concat([c]));
    }
    return groups;
  }

  /* Of values that nobody may add: "1 %", "1 % to 3 %", or nothing. */
  function between(values, text, after = '') {
    if (values.length === 0)
      return '';
    const low = text(Math.min(...values)), high = text(Math.max(...values));
    return (low === high ? low : low + ' to ' + high) + after;
  }

  ns.series = {
    columns, state, axis, align, sum, zip, ratio, scale, last, total, extent, between,
    by
  };
})(globalThis.MemLens = globalThis.MemLens || {});
