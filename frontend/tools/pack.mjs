/*
 * Packs flame graphs of single slots, uncut, into what
 * js/data/recorded-profiles.js reads: one call tree, and by slot the nodes that
 * have samples of their own.
 */
const LETTERS = { user: 'u', library: 'l', kernel: 'k', jit: 'j' };

/* The frames of an answer: fn(name's number, depth, self, samples or
 * undefined) in the order of the levels, with the parent's return value. */
function walk({ flamebearer: fb, memlens }, fn) {
  let above = [];
  fb.levels.forEach((flat, level) => {
    /* a recording knows all samples or none */
    const row = [], counts = !memlens.samples_unknown &&
      memlens.sample_levels && memlens.sample_levels[level];
    let at = 0, up = 0;
    for (let k = 0; k + 3 < flat.length; k += 4) {
      const x = at + flat[k], end = x + flat[k + 1];
      at = end;
      while (up < above.length - 1 && x >= above[up].end)
        up++;
      if (flat[k + 1] > 0 || level === 0)
        row.push({ end, node: fn(level ? above[up].node : -1, flat[k + 3],
          flat[k + 2], counts ? counts[k / 2 + 1] : undefined) });
    }
    above = row;
  });
}

function some(counts) {
  const list = Object.entries(counts || {}).filter(([, n]) => n > 0);
  return list.length ? Object.fromEntries(list) : undefined;
}

/* A slot without data: null where there is nothing to tell of it. */
function absent(m, { host, ...beside }) {
  const told = m.state === 'no data' || m.state === 'partial' ? {}
    : { state: m.state, why: m.why };
  const slot = { ...beside, ...told };
  return host && !Object.values(slot).some(Boolean) ? null
    : { ...slot, host };
}

export class Pack {
  constructor(from, slot) {
    Object.assign(this, { from, slot, names: [], kinds: [], parent: [-1],
      name: [0], of: {} });
    this.nameIds = new Map();
    this.nodeIds = new Map();
    this.nameId('total', 'unknown');
  }

  nameId(name, kind) {
    const key = kind + '\0' + name;
    if (!this.nameIds.has(key)) {
      this.nameIds.set(key, this.names.push(name) - 1);
      this.kinds.push(LETTERS[kind] || '?');
    }
    return this.nameIds.get(key);
  }

  /* Of one caller, a program's function and a library's of that name are
   * one to the store: its kind is that of the file that was seen first. */
  nodeId(parent, name) {
    const kind = this.kinds[name] === 'l' ? 'u' : this.kinds[name];
    const key = [parent, kind, this.names[name]].join('\0');
    if (!this.nodeIds.has(key)) {
      this.nodeIds.set(key, this.parent.push(parent) - 1);
      this.name.push(name);
    }
    return this.nodeIds.get(key);
  }

  /* The answer of flamegraph.json?max-nodes=-1 to one slot, the next one. */
  add(query, answer) {
    const m = answer.memlens;
    const q = this.of[query] = this.of[query] || { about: {}, slots: [] };
    const beside = { lost: some(m.lost), broken: some(m.broken),
      partial: m.partial && m.partial.length ? m.partial : undefined,
      host: m.faults === 'host' ? 1 : undefined,
      incomplete: m.incomplete ? m.why : undefined };
    if (!m.slots)
      return q.slots.push(absent(m, beside));
    q.about = { unit: m.unit, kind: m.kind };
    const ids = answer.flamebearer.names.map((name, i) =>
      (i ? this.nameId(name, m.kinds[i]) : 0));
    const nodes = new Map();
    const period = m.samples !== null && m.period > 0 ? m.period : 0;
    walk(answer, (parent, name, self, samples) => {
      const node = parent < 0 ? 0 : this.nodeId(parent, ids[name]);
      const was = nodes.get(node) || [0, 0];
      if (period && self % period !== 0)
        throw new Error(`${self} is no multiple of ${period}`);
      if (self > 0)
        nodes.set(node, period ? [was[0] + self / period] : [was[0] + self,
          samples === undefined ? null : was[1] + samples]);
      return node;
    });
    return q.slots.push({ period: period || undefined, nodes, ...beside });
  }

  /* New numbers in pre-order, so that steps are small. */
  numbers() {
    const kids = this.parent.map(() => []);
    for (let i = 1; i < this.parent.length; i++)
      kids[this.parent[i]].push(i);
    const to = [], stack = [0];
    let n = 0;
    while (stack.length) {
      const i = stack.pop();
      to[i] = n++;
      stack.push(...kids[i].reverse());
    }
    return to;
  }

  finish() {
    const to = this.numbers(), tree = [];
    for (let i = 0; i < to.length; i++) {
      tree[2 * to[i]] = i ? to[i] - to[this.parent[i]] : 0;
      tree[2 * to[i] + 1] = this.name[i];
    }
    const flat = (nodes) => {
      let last = 0;
      return [...nodes].map(([i, v]) => [to[i], v])
        .sort((a, b) => a[0] - b[0]).flatMap(([i, v]) => {
          const step = i - last;
          last = i;
          return [step, ...v];
        });
    };
    const of = Object.fromEntries(Object.entries(this.of).map(([query, q]) =>
      [query, { about: q.about, slots: q.slots.map((s) =>
        (s && s.nodes ? { ...s, nodes: flat(s.nodes) } : s)) }]));
    return { slot: this.slot, from: this.from, names: this.names,
      kinds: this.kinds.join(''), tree, of };
  }
}
