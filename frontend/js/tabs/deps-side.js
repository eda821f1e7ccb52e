/*
 * Beside the drawing of a dependency graph: what the whole costs, or of the
 * chosen node what it costs, which functions that is, why it is there, what it
 * needs and what would go with it; and whose a function is.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const C = ns.graphCost;
  const MOST = 12;
  /* An expression has 1,024 bytes at most (memlens-api(7)). */
  const FOCUS_MAX = 1000;

  const nodeButton = (id, text) => h('button', { type: 'button',
    class: 'fn-name', text: text || id,
    onclick: () => ns.view.set({ node: id, of: '' }) });

  function section(title, items) {
    return items.length === 0 ? [] : [h('h4', { text: title }),
      h('ul', { class: 'dep-links' }, items.map((x) => h('li', {}, x)))];
  }

  /* "name … 12.3 %" */
  function row(left, share) {
    return h('div', { class: 'dep-row' }, left,
      h('span', { class: 'dep-share', text: share }));
  }

  /* A regular expression of these names alone, as many as an address holds:
   * {text, n}.  Pure. */
  function focusOf(names) {
    const parts = [];
    let size = 4;
    for (const name of names) {
      const text = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      size += new TextEncoder().encode(text).length + 1;
      if (size > FOCUS_MAX)
        break;
      parts.push(text);
    }
    return { text: '^(' + parts.join('|') + ')$', n: parts.length };
  }

  const share = (v, total) => ns.format.percent(v / total);

  /* ---- all of it ---- */

  /* Of no node, and deeper: as rows with their shares. */
  function unplaced(data) {
    return [['unknown', 'of no node'], ['beyond', 'deeper than this']]
      .map(([key, text]) => [text, C.sides(data).map(({ profile: p }) =>
        (!(p.total > 0) ? null : p[key] / p.total))])
      .filter(([, v]) => v.some((x) => x > 0))
      .map(([text, v]) => row(h('span', { text }), v.map((x) =>
        (x === null ? 'no data' : ns.format.percent(x))).join(' → ')));
  }

  function costs(data) {
    if (!C.hasCost(data))
      return [h('p', { class: 'absent', text: data.costless ? 'No costs: ' +
        data.costless : data.profile
        ? 'No data: nothing was sampled in this range.'
        : 'This recording has no costs of this service: live, each node ' +
          'has its share.' })];
    const pair = C.isPair(data);
    const sums = C.sides(data).map(({ profile: p }) => (p.slots === 0
      ? 'no data' : ns.unit.text(p.total, p.unit))).join(' → ');
    return section(pair ? 'What moved most (self) of ' + sums
      : 'Where ' + sums + ' went (self)', [
      ...C.ranked(data).slice(0, MOST).map((n) => row(nodeButton(n.id),
        C.shareText(n, 'self', data))), ...unplaced(data)]);
  }

  function overview(data, x) {
    const cycles = ns.graphWalk.cycles(x);
    const versions = ns.graphWalk.versions(data.nodes);
    return [...costs(data),
      ...section('Cycles (' + cycles.length + ')', cycles.map((c) =>
        h('span', {}, c.flatMap((id, k) => (k ? [' ⇄ ', nodeButton(id)]
          : [nodeButton(id)]))))),
      ...section('In several versions', versions.map((v) =>
        h('span', {}, v.flatMap(([name, id], k) => (k
          ? [', ', nodeButton(id, name)] : [nodeButton(id, name)]))))),
      h('p', { class: 'absent', text: 'Choose a node to see why it is ' +
        'there, what it needs and what it costs.' })];
  }

  /* ---- one node ---- */

  function facts(node, data) {
    const out = [[node.kind === 'seen' ? 'seen in stacks, declared nowhere'
      : node.kind || '', '']];
    if (node.package)
      out.push(['package', node.package]);
    if (Number.isFinite(node.bytes))
      out.push(['code', ns.format.bytes(node.bytes)]);
    const pair = C.isPair(data);
    for (const key of C.hasCost(data) ? ['total', 'self'] : [])
      C.values(node, key, data).forEach((text, side) =>
        out.push([pair ? key + ' ' + 'AB'[side] : key, text]));
    for (const key of C.hasCost(data) && pair ? ['total', 'self'] : []) {
      const by = C.moved(node, key, data);
      out.push([key + ' moved', by === null ? 'no data' : C.movedText(by) +
        (C.isFew(node, key, data) ? ', of few samples' : '')]);
    }
    return h('dl', { class: 'dep-facts' }, out.flatMap(([a, b]) =>
      [h('dt', { text: a }), h('dd', { text: b })]));
  }

  /* Leads to the stacks that go through these functions. */
  const flameOf = (focus) => ns.view.set({ tab: 'profiles', view: 'flame',
    focus, ignore: '', zoom: '', search: '' }, { land: true });

  /* rows: those that are told of so many functions. */
  function flameButton(rows, functions) {
    const focus = focusOf(rows.map((f) => f.name));
    const cut = focus.n < functions
      ? ' (of the first ' + focus.n + ' functions)' : '';
    return h('button', { type: 'button', class: 'button dep-flame',
      text: 'Flame graph of it' + cut, onclick: () => flameOf(focus.text) });
  }

  function functionList(data, id) {
    const f = data.node, rows = C.list(f, 'rows', data);
    if (!C.hasCost(data) || !f || f.id !== id || rows.length === 0)
      return [];
    const { key, profile } = C.shown(data), n = f['functions' + key];
    const left = n - Math.min(rows.length, MOST);
    const row1 = (r) => row(h('button', { type: 'button',
      class: 'fn-name dep-function', text: r.name,
      title: 'Flame graph of it', onclick: () =>
        flameOf(focusOf([r.name]).text) }), share(r.total, profile.total));
    return [flameButton(rows, n), ...section('Functions (' + n + ')',
      [...rows.slice(0, MOST).map(row1),
        ...(left > 0 ? ['and ' + left + ' more'] : [])])];
  }

  /* From where paths are told: another node than the root may be chosen. */
  function startField(from, root) {
    return h('label', { class: 'dep-start' }, 'from ', h('input', {
      type: 'search', list: 'dep-nodes', class: 'search-input',
      'aria-label': 'Paths from', value: from, placeholder: root,
      spellcheck: 'false', onchange: (e) => ns.view.set({
        start: e.target.value === root ? '' : e.target.value }) }));
  }

  function whyList(root, id, x, start) {
    const from = start || root;
    const w = from === id ? null : ns.graphWalk.why(x, from, id);
    const field = startField(from, root);
    if (!w)
      return [h('h4', { text: 'Why' }), field, h('p', { class: 'absent',
        text: from === id ? (id === root ? 'It is the target itself.'
          : 'Choose another node to begin at.') : !x.out.has(from)
          ? 'There is no node “' + from + '” to begin at.'
          : 'Nothing that is declared leads here from there.' })];
    const more = w.count - Math.min(w.some.length, 5);
    return [h('h4', { text: 'Why: ' + ns.format.count(w.count) +
      (w.count === 1 ? ' shortest path of ' : ' shortest paths of ') +
      w.length }), field, h('ul', { class: 'dep-links' },
    [...w.some.slice(0, 5).map((path) => h('span', {}, path.slice(0, -1)
      .flatMap((a) => [nodeButton(a), ' → ']), path[path.length - 1])),
    ...(more > 0 ? ['and ' + ns.format.count(more) + ' more'] : [])]
      .map((item) => h('li', {}, item)))];
  }

  function neighbours(data, id, from, to, title) {
    const edges = data.edges.filter((e) => e[from] === id);
    return section(title + ' (' + edges.length + ')', edges.map((e) =>
      row(h('span', {}, nodeButton(e[to]), e.kind === 'condition'
        ? ' if ' + e.label : e.kind === 'seen' ? ' (seen in stacks alone)'
          : ''), C.hasCost(data) && C.most(e, 'calls', data) > 0
          ? C.shareText(e, 'calls', data) : '')));
  }

  /* A function that was asked for: whose it is; several that are called so
   * are told apart. */
  function home(data, name) {
    const f = data.function;
    if (!name)
      return [];
    const places = f && f.name === name ? C.list(f, 'nodes', data) : [];
    const names = new Set(places.map((p) => p.name));
    const known = new Set(data.nodes.map((n) => n.id));
    const node = (p) => (p.id === null ? 'of no node' : known.has(p.id)
      ? nodeButton(p.id) : p.id + ', deeper than this');
    const which = (p) => (names.size < 2 ? [] : [h('button', {
      type: 'button', class: 'fn-name dep-function', text: p.name,
      onclick: () => ns.view.set({ of: p.name, node: '' }) }), ' ']);
    return section(names.size > 1 ? names.size + ' functions ' + name
      : 'The function ' + ([...names][0] || name), places.length === 0
      ? [data.profile ? 'It is in no stack of this range.'
        : 'A recording does not say whose it is.']
      : places.map((p) => row(h('span', {}, which(p), node(p)),
        share(p.total, C.shown(data).profile.total))));
  }

  function chosen(data, x, root, id, start) {
    const node = data.nodes.find((n) => n.id === id);
    const only = ns.graphWalk.only(x, root, id);
    return [h('h3', { class: 'dep-name', text: id }), facts(node, data),
      ...functionList(data, id), ...whyList(root, id, x, start),
      ...neighbours(data, id, 'from', 'to', 'Needs'),
      ...neighbours(data, id, 'to', 'from', 'Needed by'),
      ...section('Only it needs (' + only.length + ')',
        only.map((o) => nodeButton(o)))];
  }

  /* What to show of an answer: of a node that it has, or of all. */
  function content(data, x, root, { node, start, of }) {
    return [...home(data, of), ...(data.nodes.some((n) => n.id === node)
      ? chosen(data, x, root, node, start) : overview(data, x))];
  }

  ns.depsSide = { content, focusOf };
})(globalThis.MemLens = globalThis.MemLens || {});
