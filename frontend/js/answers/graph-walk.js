/*
 * Questions about a dependency graph as graph.json answers it, {nodes, edges}:
 * why something is there, what goes round, what would go with it.  Edges that
 * were only seen in stacks are no reasons.  Pure.
 */
(function (ns) {
  'use strict';

  const PATHS_MAX = 20;

  /* {out, into}: Map of id -> ids, each once, in the order of the answer. */
  function index(graph) {
    const out = new Map(), into = new Map();
    for (const { id } of graph.nodes) {
      out.set(id, []);
      into.set(id, []);
    }
    for (const { from, to, kind } of graph.edges) {
      if (kind === 'seen' || from === to || out.get(from).includes(to))
        continue;
      out.get(from).push(to);
      into.get(to).push(from);
    }
    return { out, into };
  }

  /* Edges from a node, Map of id -> number; without one node. */
  function distances(out, from, without) {
    const at = new Map([[from, 0]]), queue = [from];
    for (const a of queue)
      for (const b of out.get(a))
        if (!at.has(b) && b !== without) {
          at.set(b, at.get(a) + 1);
          queue.push(b);
        }
    return at;
  }

  /*
   * All shortest paths: {length, count, nodes: Set of who is on one, edges:
   * Set of "from\nto", some: the first PATHS_MAX as lists}; null where there
   * is none.
   */
  function why({ out, into }, from, to) {
    const at = out.has(from) ? distances(out, from) : new Map();
    if (!at.has(to))
      return null;
    const counts = new Map([[from, 1]]);
    const edges = new Set();
    const before = (b) => into.get(b).filter((a) =>
      at.get(a) === at.get(b) - 1);
    const nodes = new Set([to]);
    for (const b of nodes)
      for (const a of before(b)) {
        nodes.add(a);
        edges.add(a + '\n' + b);
      }
    for (const b of [...nodes].sort((x, y) => at.get(x) - at.get(y)))
      if (b !== from)
        counts.set(b, before(b).reduce((n, a) => n + counts.get(a), 0));
    const some = [];
    const walk = (b, tail) => {
      if (b === from)
        some.push([from, ...tail]);
      else
        for (const a of before(b))
          if (some.length < PATHS_MAX)
            walk(a, [b, ...tail]);
    };
    walk(to, []);
    return { length: at.get(to), count: counts.get(to), nodes, edges, some };
  }

  /* Groups of nodes each of which needs each other one (Tarjan, without
   * recursion: a chain may be as long as there are nodes). */
  function cycles({ out }) {
    const number = new Map(), low = new Map(), open = [], isOpen = new Set();
    const found = [];
    for (const root of out.keys()) {
      const path = number.has(root) ? [] : [[root, 0]];
      while (path.length) {
        const top = path[path.length - 1], [a, k] = top;
        if (k === 0 && !number.has(a)) {
          number.set(a, number.size);
          low.set(a, number.get(a));
          open.push(a);
          isOpen.add(a);
        }
        const b = out.get(a)[k];
        if (b !== undefined) {
          top[1]++;
          if (!number.has(b))
            path.push([b, 0]);
          else if (isOpen.has(b))
            low.set(a, Math.min(low.get(a), number.get(b)));
          continue;
        }
        path.pop();
        if (path.length) {
          const up = path[path.length - 1][0];
          low.set(up, Math.min(low.get(up), low.get(a)));
        }
        if (low.get(a) !== number.get(a))
          continue;
        const group = open.splice(open.indexOf(a));
        group.forEach((x) => isOpen.delete(x));
        if (group.length > 1)
          found.push(group.sort());
      }
    }
    return found;
  }

  /* What is there because of this node alone: without it nothing leads from
   * the root to them. */
  function only({ out }, root, id) {
    if (id === root)
      return [];
    const all = distances(out, root), rest = distances(out, root, id);
    return [...all.keys()].filter((x) => x !== id && !rest.has(x));
  }

  /* What a name is without its version, as of libssl.so.1.1, "serde 1.0.2",
   * "golang.org/x/net v0.1.0", "libssl3 3.0.2-1"; null where it has none. */
  function stem(name) {
    const m = /^(?:.*\/)?(lib[^/]+?)(?:-[\d.]+)?\.so(?:\.[\d.]+)?$/.exec(name) ||
      /^(\S+) v?\d\S*$/.exec(name);
    return m ? m[1] : null;
  }

  /* By stem: {stem: Map of name -> first id that has it}. */
  function byStem(names) {
    const of = new Map();
    for (const [name, id] of names) {
      const s = name ? stem(name) : null;
      if (!s)
        continue;
      if (!of.has(s))
        of.set(s, new Map());
      if (!of.get(s).has(name))
        of.get(s).set(name, id);
    }
    return of;
  }

  /* What is there in several versions, of nodes' names and of their packages:
   * lists of [name, id of the first node that has it]. */
  function versions(nodes) {
    return [nodes.map(({ id }) => [id, id]),
      nodes.map(({ id, package: p }) => [p, id])]
      .flatMap((names) => [...byStem(names).values()])
      .map((of) => [...of]).filter((list) => list.length > 1)
      .filter((list, k, all) => all.findIndex((x) =>
        x[0][0] === list[0][0]) === k);
  }

  /* Who has at least that share, and the way to them: ids.  shareOf(node). */
  function costly(graph, x, root, shareOf, least) {
    const kept = new Set([root]), above = new Map([[root, root]]);
    for (const a of above.keys())
      for (const b of x.out.get(a) || [])
        if (!above.has(b))
          above.set(b, a);
    for (const node of graph.nodes) {
      const share = shareOf(node);
      if (!(share >= least) || share <= 0)
        continue;
      for (let id = node.id; id !== undefined && !kept.has(id);
        id = above.get(id))
        kept.add(id);
    }
    return kept;
  }

  ns.graphWalk = { index, why, cycles, only, versions, costly };
})(globalThis.MemLens = globalThis.MemLens || {});
