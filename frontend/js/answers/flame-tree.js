/*
 * Call trees.  Pure.  decode() turns flamebearer JSON into *frames*, flat
 * arrays ordered by level and then by x:
 *
 *        x=0                                  total=8
 *   row 0 |              total                  |      i = 0
 *   row 1 | main               | (self)  | idle |      i = 1, 2
 *         ^ a frame's own samples are its left part, its children follow
 *
 *   names[], kinds[]      one per distinct name
 *   name[i] level[i] parent[i]   x[i] total[i] self[i]
 *   row[l]                index of the first frame of level l; row[depth] = n
 *
 * Everything that asks "how much of function f" counts recursion once: only
 * the outermost frame of f on each stack counts.
 */
(function (ns) {
  'use strict';

  const OTHER = new Set(['(other)', 'other']);
  const KERNEL = new RegExp('^(entry_SYSCALL|entry_INT|do_syscall|__x64_sys|' +
    '__arm64_sys|asm_|sysvec_|ret_from_fork|irq_|handle_softirqs|' +
    'exc_page_fault)');

  function empty() {
    return { names: ['total'], kinds: ['unknown'], n: 0, depth: 0, ticks: 0,
      name: [], level: [], parent: [], x: [], total: [], self: [], row: [0] };
  }

  /* Without the server's word, only what a name alone betrays. */
  function guessKind(name) {
    if (OTHER.has(name) || /^\[|^0x|^total$/.test(name))
      return 'unknown';
    if (KERNEL.test(name))
      return 'kernel';
    return /\.so(\.\d+)*(\+|$|`)/.test(name) ? 'library' : 'user';
  }

  function push(f, name, level, parent, x, total, self) {
    f.name.push(name);
    f.level.push(level);
    f.parent.push(parent);
    f.x.push(x);
    f.total.push(total);
    f.self.push(self);
    f.n++;
  }

  /* The frame of row [from, to) whose span holds x; -1 when none does. */
  function find(f, from, to, x) {
    let lo = from, hi = to - 1;
    while (lo <= hi) {
      const mid = (lo + hi) >> 1;
      if (x < f.x[mid])
        hi = mid - 1;
      else if (x >= f.x[mid] + f.total[mid])
        lo = mid + 1;
      else
        return mid;
    }
    return -1;
  }

  function decode(answer) {
    const fb = (answer && answer.flamebearer) || {};
    const f = empty();
    const levels = fb.levels || [];
    f.names = (fb.names || ['total']).slice();
    const given = answer && answer.memlens && answer.memlens.kinds;
    f.kinds = f.names.map((name, i) => (given && given[i]) || guessKind(name));
    f.ticks = fb.numTicks || 0;
    /* of several periods: else samples follow from the amounts */
    const counts = answer && ((answer.memlens && answer.memlens.sample_levels)
      || answer.sample_levels);
    if (counts)
      Object.assign(f, { totalSamples: [], selfSamples: [] });
    /* amounts of which nobody has said how many samples they are */
    const unknown = counts && (answer.memlens || answer).unknown_levels;
    if (unknown)
      f.totalUnknown = [];
    levels.forEach((flat, level) => {
      const above = [f.row[level - 1] || 0, f.row[level]];
      let at = 0;
      for (let k = 0; k + 3 < flat.length; k += 4) {
        const x = at + flat[k];
        at = x + flat[k + 1];
        if (flat[k + 1] === 0 && level > 0)
          continue;
        push(f, flat[k + 3], level,
          level ? find(f, above[0], above[1], x) : -1,
          x, flat[k + 1], flat[k + 2]);
        if (counts) {
          f.totalSamples.push(counts[level][k / 2]);
          f.selfSamples.push(counts[level][k / 2 + 1]);
        }
        if (unknown)
          f.totalUnknown.push(unknown[level][k / 2]);
      }
      f.row[level + 1] = f.n;
    });
    f.depth = levels.length;
    return f;
  }

  /* Frame at a level and a tick, or -1. */
  function at(f, level, tick) {
    return level >= 0 && level < f.depth
      ? find(f, f.row[level], f.row[level + 1], tick) : -1;
  }

  function children(f, i) {
    const out = [];
    const l = f.level[i] + 1;
    if (l < f.depth)
      for (let k = f.row[l]; k < f.row[l + 1]; k++)
        if (f.parent[k] === i)
          out.push(k);
    return out;
  }

  /* Frames from the root to i. */
  function path(f, i) {
    const out = [];
    for (let k = i; k >= 0; k = f.parent[k])
      out.unshift(k);
    return out;
  }

  function outermost(f, i) {
    for (let k = f.parent[i]; k >= 0; k = f.parent[k])
      if (f.name[k] === f.name[i])
        return false;
    return true;
  }

  /* [{id, name, kind, self, total}], one per function; not the root.  Where
   * frames have samples of their own, self_samples and total_samples too. */
  function functions(f) {
    const rows = new Map();
    for (let i = 1; i < f.n; i++) {
      const id = f.name[i];
      if (!rows.has(id))
        rows.set(id, { id, name: f.names[id], kind: f.kinds[id],
          self: 0, total: 0 });
      const r = rows.get(id);
      const outer = outermost(f, i);
      r.self += f.self[i];
      r.total += outer ? f.total[i] : 0;
      if (f.totalSamples) {
        r.self_samples = (r.self_samples || 0) + f.selfSamples[i];
        r.total_samples = (r.total_samples || 0) +
          (outer ? f.totalSamples[i] : 0);
      }
    }
    return [...rows.values()];
  }

  /*
   * The search box, as the server has it (fcgi/format/flame/search.h): a
   * substring, the case of ASCII letters ignored, or /expression/flags.
   * {test} or {error}; null for an empty box.
   */
  function matcher(text) {
    if (!text)
      return null;
    const m = /^\/(.+)\/([imsu]*)$/.exec(text);
    if (m) {
      try {
        const re = new RegExp(m[1], m[2]);
        return { test: (name) => re.test(name) };
      } catch (e) {
        return { error: e.message };
      }
    }
    const low = (s) => s.replace(/[A-Z]+/g, (part) => part.toLowerCase());
    const needle = low(text);
    return { test: (name) => low(name).includes(needle) };
  }

  /* {ids: Set of name indexes, ticks, samples: null where frames have none
   * of their own}: every tick below a match once. */
  function search(f, match) {
    const ids = new Set();
    f.names.forEach((name, id) => {
      if (id > 0 && match.test(name))
        ids.add(id);
    });
    const covered = new Uint8Array(f.n);
    let ticks = 0, samples = 0;
    for (let i = 0; i < f.n; i++) {
      const above = f.parent[i] >= 0 && covered[f.parent[i]];
      covered[i] = above || ids.has(f.name[i]) ? 1 : 0;
      if (covered[i] && !above) {
        ticks += f.total[i];
        samples += f.totalSamples ? f.totalSamples[i] : 0;
      }
    }
    return { ids, ticks, samples: f.totalSamples ? samples : null };
  }

  /* What a cut has gathered as "(other)": leaves, and no function. */
  function gathered(f) {
    let sum = 0;
    for (let i = 1; i < f.n; i++)
      if (f.names[f.name[i]] === '(other)' && f.kinds[f.name[i]] === 'unknown')
        sum += f.total[i];
    return sum;
  }

  /* "a;b;c 12" lines, the text that flame graph tools exchange. */
  function folded(f) {
    const lines = [];
    for (let i = 1; i < f.n; i++)
      if (f.self[i] > 0)
        lines.push(path(f, i).slice(1)
          .map((k) => f.names[f.name[k]].replace(/[;\n]/g, ':'))
          .join(';') + ' ' + f.self[i]);
    return lines.length ? lines.join('\n') + '\n' : '';
  }

  /* Nested nodes, for trees that are built rather than received. */
  function node() {
    return { total: 0, self: 0, totalSamples: 0, selfSamples: 0,
      kids: new Map() };
  }

  function kid(parent, key) {
    if (!parent.kids.has(key))
      parent.kids.set(key, node());
    return parent.kids.get(key);
  }

  /* A nested tree as frames; keys of kids index names.  counted: the nodes
   * have samples of their own. */
  function flatten(root, rootName, names, kinds, counted) {
    const f = empty();
    if (counted)
      Object.assign(f, { totalSamples: [], selfSamples: [] });
    f.names = names;
    f.kinds = kinds;
    f.ticks = root.total;
    let row = [[rootName, -1, 0, root]];
    for (let level = 0; row.length; level++) {
      const next = [];
      for (const [name, parent, x, n] of row) {
        push(f, name, level, parent, x, n.total, n.self);
        if (counted) {
          f.totalSamples.push(n.totalSamples);
          f.selfSamples.push(n.selfSamples);
        }
        let left = x + n.self;
        const me = f.n - 1;
        const order = [...n.kids].sort(([a], [b]) =>
          (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : 0));
        for (const [key, k] of order) {
          next.push([key, me, left, k]);
          left += k.total;
        }
      }
      f.row[level + 1] = f.n;
      f.depth = level + 1;
      row = next;
    }
    return f;
  }

  /* What frame i has in total, as its total or its own. */
  function addTotal(f, i, into, key) {
    into[key] += f.total[i];
    if (f.totalSamples)
      into[key + 'Samples'] += f.totalSamples[i];
  }

  function addBelow(f, i, into) {
    addTotal(f, i, into, 'total');
    into.self += f.self[i];
    if (f.selfSamples)
      into.selfSamples += f.selfSamples[i];
    for (const k of children(f, i))
      addBelow(f, k, kid(into, f.name[k]));
  }

  function addAbove(f, i, into) {
    let at_ = into;
    addTotal(f, i, at_, 'total');
    for (let k = f.parent[i]; k > 0; k = f.parent[k]) {
      at_ = kid(at_, f.name[k]);
      addTotal(f, i, at_, 'total');
    }
    addTotal(f, i, at_, 'self');
  }

  /* {callers, callees}: frames rooted at the function that id names, of
   * whatever kinds; null if absent. */
  function sandwich(f, id) {
    const up = node(), down = node(), inside = new Uint8Array(f.n);
    for (let i = 1; i < f.n; i++) {
      const above = inside[f.parent[i]];
      const here = f.names[f.name[i]] === f.names[id];
      inside[i] = above || here ? 1 : 0;
      if (here && !above) {
        addAbove(f, i, up);
        addBelow(f, i, down);
      }
    }
    const side = (root) => flatten(root, id, f.names, f.kinds,
      !!f.totalSamples);
    return down.total === 0 ? null
      : { callers: side(up), callees: side(down) };
  }

  /* Frames that have samples of their own, and the way to each. */
  function eachStack(f, fn) {
    for (let i = 1; i < f.n; i++)
      if (f.self[i] > 0)
        fn(path(f, i).slice(1).map((k) => f.name[k]), f.self[i]);
  }

  function grow(f, stacks) {
    const root = node();
    for (const [names, value] of stacks) {
      let n = root;
      n.total += value;
      for (const name of names) {
        n = kid(n, name);
        n.total += value;
      }
      n.self += value;
    }
    return flatten(root, 0, f.names, f.kinds);
  }

  /* What the server does with focus, ignore and reverse, for snapshots:
   * stacks with a match, without one, and read from the leaf. */
  function reshape(f, { focus, ignore, reverse }) {
    const hits = (text) => {
      const re = text && new RegExp(text);
      return re && f.names.map((name, id) => id > 0 && re.test(name));
    };
    const keep = hits(focus), drop = hits(ignore), stacks = [];
    eachStack(f, (names, value) => {
      if ((!keep || names.some((id) => keep[id])) &&
        !(drop && names.some((id) => drop[id])))
        stacks.push([reverse ? names.slice().reverse() : names, value]);
    });
    return grow(f, stacks);
  }

  /* Frames as flamebearer JSON again. */
  function encode(f) {
    const levels = [];
    let maxSelf = 0;
    for (let l = 0; l < f.depth; l++) {
      const flat = [];
      let prev = 0;
      for (let i = f.row[l]; i < f.row[l + 1]; i++) {
        flat.push(f.x[i] - prev, f.total[i], f.self[i], f.name[i]);
        prev = f.x[i] + f.total[i];
        maxSelf = Math.max(maxSelf, f.self[i]);
      }
      levels.push(flat);
    }
    return { names: f.names, levels, numTicks: f.ticks, maxSelf };
  }

  /* The samples of frames as answers have them: two numbers each, level by
   * level; undefined where they are not known. */
  function sampleLevels(f) {
    return f.totalSamples && Array.from({ length: f.depth }, (_, l) => {
      const flat = [];
      for (let i = f.row[l]; i < f.row[l + 1]; i++)
        flat.push(f.totalSamples[i], f.selfSamples[i]);
      return flat;
    });
  }

  ns.flameTree = {
    OTHER, decode, encode, at, children, path, functions, matcher, search,
    gathered, sampleLevels,
    folded, sandwich, reshape
  };
})(globalThis.MemLens = globalThis.MemLens || {});
