/*
 * The profiles of a recording, exact and small: one call tree that all
 * share, and for each slot what of it had samples of its own.  Pure.
 *
 *   {slot: 10, from, names: […], kinds: "uk…", tree: [up, name, …],
 *    of: {query: {about: {unit, …}, slots: [slot or null…]}}}
 *
 *   tree    node i is tree[2i], tree[2i + 1]: its caller is node i - up, and
 *           the number of its name; node 0 is the root
 *   kinds   a letter for each name: user, library, kernel, jit, ? (unknown)
 *   slots   from `from` on; null where there is no data, and nothing else
 *   slot    {period, nodes: [step, samples, …]}: from node to node, and the
 *           samples that each has itself, of `period` units each; or
 *           {nodes: [step, amount, samples or null, …]} where periods are
 *           mixed or not known; without nodes there is no data, and state
 *           and why where they are not "no data"; and lost, broken, partial
 *           where there are any, host: 1 where they are the host's; why it
 *           is incomplete where it is
 *
 * A question is answered from whole slots, and says which range that is.
 */
(function (ns) {
  'use strict';

  const T = ns.flameTree;
  const KINDS = { u: 'user', l: 'library', k: 'kernel', j: 'jit',
    '?': 'unknown' };

  /* {parent[], name[]}; made once for a recording. */
  const shapes = new WeakMap();
  function shapeOf(p) {
    if (!shapes.has(p)) {
      const n = p.tree.length / 2;
      const shape = { n, parent: new Int32Array(n), name: new Int32Array(n) };
      for (let i = 0; i < n; i++) {
        shape.parent[i] = i - p.tree[2 * i];
        shape.name[i] = p.tree[2 * i + 1];
      }
      shapes.set(p, shape);
    }
    return shapes.get(p);
  }

  const hasData = (slot) => !!slot && !!slot.nodes;

  /* fn(node, amount, samples or null) of a slot. */
  function eachNode(slot, fn) {
    const wide = slot.period ? 2 : 3;
    let node = 0;
    for (let k = 0; k < slot.nodes.length; k += wide) {
      node += slot.nodes[k];
      const v = slot.nodes[k + 1];
      if (slot.period)
        fn(node, v * slot.period, v);
      else
        fn(node, v, slot.nodes[k + 2]);
    }
  }

  function addCounts(into, counts) {
    for (const [k, v] of Object.entries(counts || {}))
      into[k] = (into[k] || 0) + v;
  }

  /* Reasons that a service counts itself, where anybody does. */
  const OWNED = ['held full', 'aggregate full', 'locks full', 'table unread'];

  /*
   * lost, broken, faults of a range, as the API has them: the service's
   * where a slot has counted them by service, else the host's.
   */
  function faultsOf(list, about) {
    const own = list.some((slot) => slot && !slot.host);
    const out = { lost: {}, broken: {}, faults: own ? about.faults || 'service'
      : 'host' };
    for (const slot of list.filter(Boolean)) {
      addCounts(out.lost, own && slot.host ? Object.fromEntries(
        Object.entries(slot.lost || {}).filter(([k]) => !OWNED.includes(k)))
        : slot.lost);
      if (!own || !slot.host)
        addCounts(out.broken, slot.broken);
    }
    return out;
  }

  /* Of slots without data: what the last of them says. */
  function absence(list) {
    const last = list[list.length - 1] || {};
    return { state: last.state || 'no data', why: last.why || '' };
  }

  /* Why it is incomplete, where a slot is; or undefined. */
  function lacking(list) {
    return list.map((slot) => slot && slot.incomplete).find(Boolean);
  }

  /* The slots that the range touches: {from, until, list}; the range as it
   * is asked for where there are none. */
  function within(p, query, from, until) {
    const slots = p.of[query].slots;
    const clamp = (i) => Math.max(0, Math.min(slots.length, i));
    const a = clamp(Math.floor((from - p.from) / p.slot));
    const b = Math.max(a, clamp(Math.ceil((until - p.from) / p.slot)));
    return a === b ? { from, until, list: [] }
      : { from: p.from + a * p.slot, until: p.from + b * p.slot,
        list: slots.slice(a, b) };
  }

  /* What each node has itself in a range, and what is told about it. */
  function sum(p, query, from, until) {
    const { n } = shapeOf(p), range = within(p, query, from, until);
    const out = Object.assign(faultsOf(range.list, p.of[query].about), {
      from: range.from, until: range.until, period: null, known: true,
      none: absence(range.list), incomplete: lacking(range.list),
      partial: ns.time.stretches(range.list.flatMap((slot) =>
        (slot && slot.partial) || []), range),
      amount: new Float64Array(n), samples: new Float64Array(n) });
    const list = range.list.filter(hasData);
    out.slots = list.length;
    for (const slot of list) {
      if (slot.nodes.length) /* 0: several, or not known */
        out.period = out.period === null || out.period === slot.period
          ? slot.period || 0 : 0;
      eachNode(slot, (node, amount, samples) => {
        out.amount[node] += amount;
        if (samples === null)
          out.known = false;
        else
          out.samples[node] += samples;
      });
    }
    return p.of[query].about.kind === 'stock' ? mean(out, list.length) : out;
  }

  /* What is in use adds up over services, not over time. */
  function mean(s, n) {
    for (const column of n > 1 ? [s.amount, s.samples] : [])
      column.forEach((v, i) => { column[i] = Math.floor(v / n); });
    return s;
  }

  /* What is kept as its parts alone: wall time is both together. */
  const PARTS = { wall: ['cpu', 'offcpu'] };

  /* The queries that make up one: itself, its parts, or none where one was
   * not recorded. */
  function partsOf(p, query) {
    const [, name, rest] = /^(\w+)(.*)$/.exec(query) || [];
    const all = Object.hasOwn(PARTS, name)
      ? PARTS[name].map((part) => part + rest) : [query];
    return all.every((q) => p.of[q]) ? all : [];
  }

  /* CPU time, and time off CPU beside it, whose samples are not counted. */
  function joined(a, b) {
    const parts = [a, b].map((s) => s.amount.reduce((x, y) => x + y, 0));
    addCounts(a.lost, b.lost);
    addCounts(a.broken, b.broken);
    return Object.assign(a, { amount: a.amount.map((v, i) =>
      v + b.amount[i]), off: b.amount, wholeSlots: Math.min(a.slots, b.slots),
    slots: Math.max(a.slots, b.slots), period: null,
    partial: [...a.partial, ...b.partial], parts: { cpu: parts[0],
      offcpu: parts[1] } });
  }

  /* By name: does the expression match?  Null where there is none. */
  function hits(names, text, field) {
    if (!text)
      return null;
    try {
      const re = new RegExp(text);
      return names.map((name) => re.test(name));
    } catch (e) {
      throw new ns.api.ApiError(400, e.message, field);
    }
  }

  /* By node: is a name of `hit` on its path? */
  function onPath(shape, hit) {
    const out = new Uint8Array(shape.n);
    for (let i = 1; i < shape.n; i++)
      out[i] = out[shape.parent[i]] || hit[shape.name[i]] ? 1 : 0;
    return out;
  }

  /* focus and ignore: takes away what no stack of the rest has. */
  function filter(p, s, { focus, ignore }) {
    const shape = shapeOf(p);
    const keep = hits(p.names, focus, 'focus');
    const drop = hits(p.names, ignore, 'ignore');
    const kept = keep && onPath(shape, keep);
    const gone = drop && onPath(shape, drop);
    for (let i = 0; i < shape.n; i++)
      if (kept && !kept[i] || gone && gone[i])
        for (const list of [s.amount, s.samples, s.off || []])
          list[i] = 0;
  }

  /* The same stacks read from the leaf: {shape, amount, samples, off}. */
  function reversed(shape, s) {
    const out = { n: 1, parent: [0], name: [0] };
    const amount = [s.amount[0]], samples = [s.samples[0]];
    const off = s.off && [s.off[0]];
    const index = new Map();
    for (let i = 1; i < shape.n; i++) {
      if (s.amount[i] === 0)
        continue;
      let at = 0;
      for (let k = i; k > 0; k = shape.parent[k]) {
        const key = at * 0x100000 + shape.name[k];
        let next = index.get(key);
        if (next === undefined) {
          next = out.n++;
          index.set(key, next);
          out.parent.push(at);
          out.name.push(shape.name[k]);
          amount.push(0);
          samples.push(0);
          if (off)
            off.push(0);
        }
        at = next;
      }
      amount[at] += s.amount[i];
      samples[at] += s.samples[i];
      if (off)
        off[at] += s.off[i];
    }
    return { shape: out, amount, samples, off };
  }

  /* Totals by node, callers before what they call. */
  function totals(shape, self) {
    const out = Float64Array.from(self);
    for (let i = shape.n - 1; i > 0; i--)
      out[shape.parent[i]] += out[i];
    return out;
  }

  /* Children of each node that has something: Map node -> [node…]. */
  function childrenOf(shape, total) {
    const out = new Map();
    for (let i = 1; i < shape.n; i++)
      if (total[i] > 0) {
        const list = out.get(shape.parent[i]);
        if (list)
          list.push(i);
        else
          out.set(shape.parent[i], [i]);
      }
    return out;
  }

  /* Frames as flame-tree.js has them, with the samples of each beside. */
  function frames(p, { shape, amount, samples, off }) {
    const f = Object.assign(T.decode(null), { totalSamples: [],
      selfSamples: [] }, off ? { totalUnknown: [], selfUnknown: [] } : {});
    const total = totals(shape, amount), counts = totals(shape, samples);
    const away = off && totals(shape, off);
    const kids = childrenOf(shape, total), ids = new Map();
    const nameOf = (id) => {
      if (!ids.has(id)) {
        ids.set(id, f.names.push(p.names[id]) - 1);
        f.kinds.push(KINDS[p.kinds[id]]);
      }
      return ids.get(id);
    };
    const order = (a, b) => {
      const [m, n] = [p.names[shape.name[a]], p.names[shape.name[b]]];
      return m < n ? -1 : m > n ? 1 : shape.name[a] - shape.name[b];
    };
    let row = [[0, -1, 0]];
    f.ticks = total[0];
    for (let level = 0; row.length; level++) {
      const next = [];
      for (const [i, parent, x] of row) {
        const me = f.n++;
        f.name.push(i === 0 ? 0 : nameOf(shape.name[i]));
        f.level.push(level);
        f.parent.push(parent);
        f.x.push(x);
        f.total.push(total[i]);
        f.self.push(amount[i]);
        f.totalSamples.push(counts[i]);
        f.selfSamples.push(samples[i]);
        if (off) {
          f.totalUnknown.push(away[i]);
          f.selfUnknown.push(off[i]);
        }
        let left = x + amount[i];
        for (const k of (kids.get(i) || []).sort(order)) {
          next.push([k, me, left]);
          left += total[k];
        }
      }
      f.row[level + 1] = f.n;
      f.depth = level + 1;
      row = next;
    }
    return f;
  }

  /* whole, counted: before focus and ignore. */
  function about(p, { about: told, query }, s, f, whole, counted) {
    const period = s.period > 0 ? s.period : null;
    const mixed = s.off || s.known && period === null;
    const none = s.slots === 0 && s.partial.length === 0;
    const known = s.known && s.slots > 0; /* no data is not 0 */
    const off = s.off && { parts: s.parts, whole_slots: s.wholeSlots,
      unknown_levels: T.sampleLevels({ ...f, totalSamples: f.totalUnknown,
        selfSamples: f.selfUnknown }) };
    return Object.assign({}, told, off, { query, from: s.from,
      until: s.until, state: s.partial.length ? 'partial' : none
        ? s.none.state : whole > 0 ? 'data' : s.incomplete ? 'no data'
          : 'zero',
      incomplete: s.incomplete ? true : undefined,
      why: none ? s.none.why : s.incomplete || '', slots: s.slots,
      faults: s.faults,
      samples: known ? f.totalSamples[0] : null, total: whole,
      total_samples: known ? counted : null,
      lost: s.lost, broken: s.broken, partial: s.partial, period,
      kinds: f.kinds,
      sample_levels: mixed ? T.sampleLevels(f) : undefined });
  }

  /*
   * {f, memlens} of a question of the API: query, from, until, focus, ignore,
   * reverse.  undefined where the query was not recorded.
   */
  function ask(p, { query, from, until, focus, ignore, reverse, collapse }) {
    const parts = p ? partsOf(p, query) : [];
    if (parts.length === 0)
      return undefined;
    if (collapse)
      throw new ns.api.ApiError(404, 'the recorded demo has no modules',
        'collapse');
    const { slots, about: told } = p.of[parts[0]];
    const s = parts.map((q) => sum(p, q, from === undefined ? p.from : from,
      until === undefined ? p.from + slots.length * p.slot : until))
      .reduce(joined);
    const [whole, counted] = [s.amount, s.samples].map((list) =>
      list.reduce((a, b) => a + b, 0));
    filter(p, s, { focus, ignore });
    const f = frames(p, reverse ? reversed(shapeOf(p), s)
      : { shape: shapeOf(p), amount: s.amount, samples: s.samples,
        off: s.off });
    const memlens = about(p, { about: told, query }, s, f, whole, counted);
    if (memlens.samples === null)
      f.totalSamples = f.selfSamples = undefined;
    return { f, memlens };
  }

  /* One function over time, as table.json has it. */
  function overTime(p, { query, from, until, focus, ignore, step, ...rest }) {
    const ranges = partsOf(p, query).map((q) => within(p, q, from, until));
    const [range] = ranges, { about: told } = p.of[partsOf(p, query)[0]];
    const shape = shapeOf(p), slots = range.list.length;
    const wide = Math.max(1, Math.ceil((step || (until - from) / 60) /
      p.slot));
    const mine = onPath(shape, p.names.map((x) => x === rest.function));
    const kept = { amount: new Float64Array(shape.n).fill(1), samples: [] };
    filter(p, kept, { focus, ignore });
    const points = [];
    for (let k = 0; k < slots; k += wide) {
      const part = ranges.flatMap((r) => r.list.slice(k, k + wide))
        .filter(hasData);
      let self = 0, total = 0;
      for (const slot of part)
        eachNode(slot, (node, amount) => {
          if (!mine[node] || !kept.amount[node])
            return;
          total += amount;
          self += p.names[shape.name[node]] === rest.function ? amount : 0;
        });
      const n = told.kind === 'stock' ? part.length : 1;
      points.push([range.from + k * p.slot, ...part.length
        ? [self / n, total / n] : [null, null]]);
    }
    return { function: rest.function, step: wide * p.slot, points };
  }

  ns.recordedProfiles = { ask, overTime, partsOf, KINDS };
})(globalThis.MemLens = globalThis.MemLens || {});
