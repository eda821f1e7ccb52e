/*
 * What table.json, sandwich.json and a search in diff.json say, made of a
 * whole call tree (flame-tree.js) as the server makes them: for the recorded
 * demo, and for tests.  Pure.
 */
(function (ns) {
  'use strict';

  const T = ns.flameTree;

  const of = (v, whole) => (whole > 0 ? v / whole : null);
  const names = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

  /* The order of table.json's rows; "-" turns all of it round. */
  function ordered(rows, sort) {
    const key = sort.replace('-', '');
    rows.sort(key === 'name' ? names
      : (a, b) => b[key] - a[key] || names(a, b));
    return sort[0] === '-' ? rows.reverse() : rows;
  }

  /* An expression that is none is refused as the server does. */
  function matcher(search) {
    const match = T.matcher(search);
    if (match && match.error)
      throw new ns.api.ApiError(400, match.error, 'search');
    return match;
  }

  /* {functions, rows, matched} of table.json. */
  function table(f, { search = '', sort = 'self', limit = 500 }) {
    const match = matcher(search);
    const rows = ordered(T.functions(f).filter((r) =>
      !match || match.test(r.name)), sort);
    const out = { functions: rows.length, rows: rows.slice(0, limit)
      .map((r) => Object.assign({}, r, { self_share: of(r.self, f.ticks),
        total_share: of(r.total, f.ticks) })) };
    if (match) {
      const found = T.search(f, match);
      out.matched = { amount: found.ticks, samples: found.samples,
        share: of(found.ticks, f.ticks) };
    }
    return out;
  }

  /* A tree below a root, as sandwich.json has it. */
  function rooted(side) {
    const { names: list, levels, maxSelf } = T.encode(side);
    const counts = T.sampleLevels(side);
    return { kinds: side.kinds, sample_levels: counts &&
      [[side.totalSamples[0], 0]].concat(counts), flamebearer: { names: list,
      maxSelf, numTicks: side.ticks,
      levels: [[0, side.ticks, 0, 0]].concat(levels) } };
  }

  /* {function, callers, callees} of sandwich.json. */
  function sandwich(f, name) {
    const id = f.names.indexOf(name);
    const both = id > 0 ? T.sandwich(f, id) : null;
    const rows = T.functions(f).filter((r) => r.name === name);
    const own = (key) => rows.reduce((s, r) => s + r[key], 0);
    const counts = f.totalSamples && { self_samples: own('self_samples'),
      total_samples: both ? both.callees.totalSamples[0] : 0 };
    const none = { kinds: ['unknown'], flamebearer: { names: ['total'],
      levels: [[0, 0, 0, 0]], numTicks: 0, maxSelf: 0 } };
    return { function: Object.assign({ name, self: own('self'),
      total: both ? both.callees.ticks : 0, self_samples: null,
      total_samples: null }, counts),
    callers: both ? rooted(both.callers) : none,
    callees: both ? rooted(both.callees) : none };
  }

  /* The rows of a diff that a search leaves, and what it finds of both. */
  function found(diff, trees, { search = '' }) {
    const match = matcher(search);
    if (!match)
      return diff;
    const rows = diff.rows.filter((r) => match.test(r.name));
    return Object.assign({}, diff, { rows, functions: rows.length,
      matched: { amount: trees.map((f) => T.search(f, match).ticks) } });
  }

  ns.flameAnswers = { table, sandwich, found };
})(globalThis.MemLens = globalThis.MemLens || {});
