/*
 * Two call trees in one.  Pure.  decode() turns flamebearer JSON of format
 * "double" into frames as flame-tree.js has them, with both values beside:
 *
 *   a[i], b[i]             total of A and of B
 *   selfA[i], selfB[i]     their own
 *   total[i], x[i]         a * weight A + b * weight B: what is drawn
 *
 * so that what is only in A and what is only in B both have a width.
 * fromPair() makes such an answer of two single ones, for a snapshot.
 */
(function (ns) {
  'use strict';

  const T = ns.flameTree;
  const FEW = 100; /* samples; as the server marks its rows */

  /* 1 / what each side is divided by; 0 where it has nothing. */
  function weights(answer) {
    return ['a', 'b'].map((side) => {
      const by = answer && answer[side] && answer[side].divided_by;
      return by > 0 ? 1 / by : 0;
    });
  }

  /* A level of sevens as [{x, total, self} of A, the same of B, name]. */
  function row(flat) {
    const out = [], end = [0, 0];
    for (let k = 0; k + 6 < flat.length; k += 7) {
      const sides = [0, 3].map((d, s) => {
        const x = end[s] + flat[k + d];
        end[s] = x + flat[k + d + 1];
        return { x, total: flat[k + d + 1], self: flat[k + d + 2] };
      });
      out.push([sides[0], sides[1], flat[k + 6]]);
    }
    return out;
  }

  /* The frame above, whose span holds the place on a side that has one. */
  function above(f, level, sides) {
    const s = sides[0].total > 0 ? 0 : 1;
    const xs = s ? f.xB : f.xA, totals = s ? f.b : f.a;
    for (let i = f.row[level - 1]; i < f.row[level]; i++)
      if (totals[i] > 0 && sides[s].x >= xs[i] &&
        sides[s].x < xs[i] + totals[i])
        return i;
    return -1;
  }

  function decode(answer) {
    const fb = (answer && answer.flamebearer) || {};
    const f = T.decode(null);
    const [wa, wb] = weights(answer);
    Object.assign(f, { names: (fb.names || ['total']).slice(),
      a: [], b: [], selfA: [], selfB: [], xA: [], xB: [] });
    f.kinds = (answer && answer.kinds) || f.names.map(() => 'unknown');
    const counts = answer && answer.sample_levels;
    f.counts = counts ? [] : null;
    const loose = counts && answer.unknown_levels;
    f.unknown = loose ? [] : null;
    (fb.levels || []).forEach((flat, level) => {
      for (const [k, [a, b, name]] of row(flat).entries()) {
        const total = a.total * wa + b.total * wb;
        if (total <= 0 && level > 0)
          continue;
        if (counts)
          f.counts.push([counts[level][4 * k], counts[level][4 * k + 2]]);
        if (loose)
          f.unknown.push([loose[level][4 * k], loose[level][4 * k + 2]]);
        f.name.push(name);
        f.level.push(level);
        f.parent.push(level ? above(f, level, [a, b]) : -1);
        f.a.push(a.total);
        f.b.push(b.total);
        f.selfA.push(a.self);
        f.selfB.push(b.self);
        f.xA.push(a.x);
        f.xB.push(b.x);
        f.x.push(a.x * wa + b.x * wb);
        f.total.push(total);
        f.self.push(a.self * wa + b.self * wb);
        f.n++;
      }
      f.row[level + 1] = f.n;
    });
    f.depth = f.row.length - 1;
    f.ticks = f.n ? f.total[0] : 0;
    f.weights = [wa, wb];
    f.units = unitsOf(answer);
    return f;
  }

  /* How the amounts of each side read: their periods may differ. */
  function unitsOf(answer) {
    return ['a', 'b'].map((side) => ns.flameFacts.unitOf(answer || {},
      (answer && answer[side]) || {}));
  }

  /* The samples of A and of B that frame i is of; null where not known. */
  function samples(f, i) {
    return f.counts ? f.counts[i]
      : [f.a, f.b].map((v, s) => (v[i] === 0 ? 0 : f.units[s].samples(v[i])));
  }

  /* -1 (gone) to 1 (new); 0 where nothing moved. */
  function change(a, b) {
    const most = Math.max(a, b);
    return most > 0 ? (b - a) / most : 0;
  }

  /* The amounts of A and of B beside those. */
  function unknown(f, i) {
    return f.unknown ? f.unknown[i] : [0, 0];
  }

  /* Do too few samples carry frame i for a statement? */
  function isFew(f, i) {
    const [a, b] = samples(f, i);
    return a !== null && b !== null && a + b < FEW &&
      unknown(f, i).every((v) => v === 0);
  }

  /* Against nothing, nothing has moved: there is no statement. */
  function frameChange(f, i) {
    return f.weights.includes(0) ? 0 : change(f.a[i] * f.weights[0], f.b[i] * f.weights[1]);
  }

  /* A function is a name and a kind of code. */
  const keyOf = (name, kind) => name + '\0' + kind;

  /* Of two trees, each node with both values, and the samples of both. */
  function align(trees, units) {
    const make = () => ({ kids: new Map(), self: [0, 0], total: [0, 0],
      counts: [0, 0, 0, 0] });
    const root = make(), kinds = new Map();
    trees.forEach((f, s) => {
      const nodes = [];
      for (let i = 0; i < f.n; i++) {
        const key = keyOf(f.names[f.name[i]], f.kinds[f.name[i]]);
        kinds.set(key, f.kinds[f.name[i]]);
        let n = root;
        if (i > 0) {
          const kids = nodes[f.parent[i]].kids;
          n = kids.get(key) || make();
          kids.set(key, n);
        }
        n.self[s] += f.self[i];
        n.total[s] += f.total[i];
        ['total', 'self'].forEach((which, k) => {
          n.counts[2 * s + k] = ns.flameFacts.frameSamples(units[s], f, i,
            which);
        });
        nodes.push(n);
      }
    });
    return { root, kinds };
  }

  function encode({ root, kinds }) {
    const names = ['total'], keys = [''], levels = [], counts = [];
    const index = new Map([['', 0]]);
    let line = [['', root, [0, 0]]], maxSelf = 0;
    const id = (key) => {
      if (!index.has(key)) {
        index.set(key, names.push(key.split('\0')[0]) - 1);
        keys.push(key);
      }
      return index.get(key);
    };
    while (line.length) {
      const flat = [], next = [], end = [0, 0];
      counts.push(line.flatMap(([, n]) => n.counts));
      for (const [name, n, x] of line) {
        for (const s of [0, 1]) {
          flat.push(x[s] - end[s], n.total[s], n.self[s]);
          end[s] = x[s] + n.total[s];
          maxSelf = Math.max(maxSelf, n.self[s]);
        }
        flat.push(id(name));
        const at = [x[0] + n.self[0], x[1] + n.self[1]];
        for (const [key, k] of [...n.kids].sort(([p], [q]) =>
          (p < q ? -1 : 1))) {
          next.push([key, k, at.slice()]);
          at[0] += k.total[0];
          at[1] += k.total[1];
        }
      }
      levels.push(flat);
      line = next;
    }
    const known = counts.every((row) => row.every((v) => v !== null));
    return { flamebearer: { names, levels, maxSelf,
      numTicks: root.total[0] + root.total[1] },
    sample_levels: known ? counts : undefined,
    kinds: keys.map((key) => kinds.get(key) || 'unknown') };
  }

  function rowsOf(trees, w, sums, units, counted) {
    const rows = new Map();
    trees.forEach((f, s) => {
      for (const r of T.functions(f)) {
        const key = keyOf(r.name, r.kind);
        if (!rows.has(key))
          rows.set(key, { name: r.name, kind: r.kind, self: [0, 0],
            total: [0, 0], self_samples: [0, 0], total_samples: [0, 0] });
        for (const which of ['self', 'total']) {
          rows.get(key)[which][s] = r[which];
          rows.get(key)[which + '_samples'][s] =
            ns.flameFacts.samplesOf(units[s], r, which);
        }
      }
    });
    const moved = (v) => {
      const n = w.map((x, s) => (x > 0 ? v[s] * x : null));
      const both = n[0] !== null && n[1] !== null;
      return [n, both ? n[1] - n[0] : null,
        both && n[0] > 0 ? n[1] / n[0] : null];
    };
    return [...rows.values()].map((r) => {
      const [sn, sd, sr] = moved(r.self), [tn, td, tr] = moved(r.total);
      const [a, b] = r.total_samples;
      const known = counted && a !== null && b !== null;
      return Object.assign(r, { samples: known ? a + b : null,
        few: known ? a + b < FEW : null,
        self_samples: known ? r.self_samples : null,
        total_samples: known ? r.total_samples : null,
        share: r.total.map((v, s) => (sums[s] ? v / sums[s] : null)),
        self_normalised: sn, self_difference: sd, self_ratio: sr,
        total_normalised: tn, total_difference: td, total_ratio: tr });
    }).sort((p, q) => Math.abs(q.self_difference) -
      Math.abs(p.self_difference) || (p.name < q.name ? -1 : 1));
  }

  const WORDS = {
    total: () => 'Shares of each side\'s total: a function that keeps its ' +
      'share is unchanged, even where the whole has grown.',
    time: (s) => 'Per second of the time that has data: ' + s[0] +
      ' s of A, ' + s[1] + ' s of B.',
    held: () => 'Averages over the time that has data, as they are.'
  };

  /*
   * What diff.json would say of two answers of flamegraph.json.  flat: the
   * same two as trees from the callers, where the answers are read from the
   * leaves: functions stay what they are.
   */
  function fromPair(a, b, normalise, flat) {
    const how = WORDS[normalise] ? normalise : 'total';
    const trees = [a, b].map(T.decode), about = [a, b].map((x) =>
      (x && x.memlens) || {});
    const units = [a, b].map((x) => ns.flameFacts.unitOf(x || {}));
    const seconds = about.map((m) => (m.slots || 0) * 10);
    const held = how === 'time' && about.some((m) => m.kind === 'stock');
    /* shares are those of the whole, whatever is in focus */
    const sums = trees.map((f, s) => (about[s].total === undefined ? f.ticks
      : about[s].total));
    const by = held ? about.map((m) => (m.slots > 0 ? 1 : 0))
      : how === 'time' ? seconds : sums;
    const w = by.map((v) => (v > 0 ? 1 / v : 0));
    const side = (s) => Object.assign({}, about[s], { total: sums[s],
      seconds: seconds[s], divided_by: by[s] || null });
    /* what has data of which nobody counts samples leaves nothing to count */
    const counted = about.every((m) => !m.slots || m.total_samples !== null);
    const rows = rowsOf(flat || trees, w, sums, units, counted);
    return Object.assign({ version: 1 }, encode(align(trees, units)), {
      metadata: Object.assign({}, a && a.metadata, { format: 'double' }),
      leftTicks: sums[0], rightTicks: sums[1], a: side(0), b: side(1),
      normalise: how, words: WORDS[held ? 'held' : how](seconds), functions: rows.length,
      rows });
  }

  ns.flameDiff = { decode, change, frameChange, samples, unknown, isFew,
    fromPair, FEW };
})(globalThis.MemLens = globalThis.MemLens || {});
