/*
 * What a graph's nodes and edges cost, as graph.json answers it: of one
 * profile, or of two (A the base, B what the page shows).  Null is no data,
 * and never 0.  Pure.
 */
(function (ns) {
  'use strict';

  const FEW = 100; /* samples: fewer make no statement of a difference */

  /* [{key: behind names of amounts, profile}], as many as were asked for. */
  function sides(data) {
    return [['', data.profile], ['_b', data.profile_b]]
      .filter(([, profile]) => profile)
      .map(([key, profile]) => ({ key, profile }));
  }

  const isPair = (data) => !!data.profile_b;

  /* Is there anything that a share could be of? */
  const hasCost = (data) => sides(data).some((s) => s.profile.total > 0);

  /* An amount on each side, null where there is no data. */
  function amounts(item, which, data) {
    return sides(data).map(({ key }) => {
      const v = item[which + key];
      return v === undefined ? null : v;
    });
  }

  /* The same as parts of each side's total. */
  function shares(item, which, data) {
    const all = sides(data);
    return amounts(item, which, data).map((v, s) =>
      (v === null || !(all[s].profile.total > 0) ? null
        : v / all[s].profile.total));
  }

  /* The larger share; 0 where there is none. */
  const most = (item, which, data) => Math.max(0,
    ...shares(item, which, data).map((v) => v || 0));

  /* -1 (gone) to 1 (new), of shares; null where a side has no data. */
  function change(item, which, data) {
    const [a, b] = shares(item, which, data);
    return a === null || b === null || b === undefined ? null
      : Math.max(a, b) > 0 ? (b - a) / Math.max(a, b) : 0;
  }

  /* In points of a hundred, B less A; null where a side has no data. */
  function moved(item, which, data) {
    const [a, b] = shares(item, which, data);
    return a === null || b === null || b === undefined ? null : b - a;
  }

  /* Do too few samples of both sides carry it?  False where nobody counts
   * samples. */
  function isFew(item, which, data) {
    const n = amounts(item, which, data).map((v, s) => {
      const p = sides(data)[s].profile;
      return v === null || v === 0 ? 0
        : p.samples > 0 && p.total > 0 ? v / p.total * p.samples : NaN;
    });
    return n.reduce((x, y) => x + y, 0) < FEW;
  }

  const share = (v) => (v === null ? 'no data' : ns.format.percent(v));

  /* "12.3 %", or "12.3 % → 15.4 %". */
  const shareText = (item, which, data) =>
    shares(item, which, data).map(share).join(' → ');

  /* "+3.1 pp": shares differ by points. */
  function movedText(v) {
    const size = Math.abs(v) * 100;
    return v === null ? '' : (v > 0 ? '+' : v < 0 ? '−' : '±') +
      size.toFixed(size > 0 && size < 0.1 ? 2 : 1) + ' pp';
  }

  /* What stands in a node: its share and its own, or of two its shares and
   * how far they are apart; '' where nothing was asked for or sampled. */
  function text(node, data) {
    if (!hasCost(data) || node.total === undefined)
      return '';
    const by = isPair(data) ? movedText(moved(node, 'total', data))
      : 'self ' + shareText(node, 'self', data);
    return shareText(node, 'total', data) + (by ? ' (' + by + ')' : '');
  }

  /* Each side's share with its amount: ["12.3 % · 4.5 s", …]. */
  function values(item, which, data) {
    const parts = shares(item, which, data);
    return amounts(item, which, data).map((v, s) => (v === null ? 'no data'
      : (parts[s] === null ? '' : share(parts[s]) + ' · ') +
        ns.unit.text(v, sides(data)[s].profile.unit)));
  }

  /* The side that the page shows, {key, profile}; null where none is. */
  const shown = (data) => sides(data).pop() || null;

  /* A list that an answer has of each side, as the page shows it. */
  const list = (item, name, data) => {
    const side = shown(data);
    return (item && side && item[name + side.key]) || [];
  };

  /* The nodes of which most ends in themselves; of two, those that moved
   * most. */
  function ranked(data) {
    const size = isPair(data)
      ? (n) => Math.abs(moved(n, 'self', data) || 0)
      : (n) => most(n, 'self', data);
    return data.nodes.map((n) => [size(n), n]).filter(([v]) => v > 0)
      .sort((p, q) => q[0] - p[0] || (p[1].id < q[1].id ? -1 : 1))
      .map(([, n]) => n);
  }

  ns.graphCost = { sides, isPair, hasCost, amounts, shares, most, change,
    moved, movedText, isFew, shareText, text, values, shown, list, ranked };
})(globalThis.MemLens = globalThis.MemLens || {});
