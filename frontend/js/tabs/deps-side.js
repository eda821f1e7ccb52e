/*
 * Beside the drawing of a dependency graph: what the whole costs, or of the
 * chosen node what it costs, which functions that is, why it is there, what it
 * needs and what would go with it.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const MOST = 12, FOCUS_MAX = 1500;

  const nodeButton = (id, text) => h('button', { type: 'button',
    class: 'fn-name', text: text || id,
    onclick: () => ns.view.set({ node: id }) });

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
      size += text.length + 1;
      if (size > FOCUS_MAX)
        break;
      parts.push(text);
    }
    return { text: '^(' + parts.join('|') + ')$', n: parts.length };
  }

  const share = (v, data) => ns.format.percent(v / data.profile.total);
  const hasCost = (data) => !!data.profile && data.profile.total > 0;

  /* ---- all of it ---- */

  function unplaced(data) {
    const p = data.profile;
    return [[p.unknown, 'of no node'], [p.beyond, 'deeper than this']]
      .filter(([v]) => v > 0)
      .map(([v, text]) => row(h('span', { text }), share(v, data)));
  }

  function costs(data) {
    if (!hasCost(data))
      return [h('p', { class: 'absent', text: data.profile
        ? 'No data: nothing was sampled in this range.'
        : 'A recording has no costs: live, each node has its share.' })];
    const most = data.nodes.filter((n) => n.self > 0)
      .sort((a, b) => b.self - a.self).slice(0, MOST);
    return section('Where ' + ns.unit.text(data.profile.total,
      data.profile.unit) + ' went (self)', [...most.map((n) =>
      row(nodeButton(n.id), share(n.self, data))), ...unplaced(data)]);
  }

  function overview(data, x) {
    const cycles = ns.graphWalk.cycles(x);
    const versions = ns.graphWalk.versions(data.nodes);
    return [...costs(data),
      ...section('Cycles (' + cycles.length + ')', cycles.map((c) =>
        h('span', {}, c.flatMap((id, k) => (k ? [' ⇄ ', nodeButton(id)]
          : [nodeButton(id)]))))),
      ...section('In several versions', versions.map((v) =>
        h('span', {}, v.flatMap((id, k) => (k ? [', ', nodeButton(id)]
          : [nodeButton(id)]))))),
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
    if (hasCost(data))
      for (const key of ['total', 'self'])
        out.push([key, share(node[key], data) + ' · ' + ns.unit.text(node[key],
          data.profile.unit)]);
    return h('dl', { class: 'dep-facts' }, out.flatMap(([a, b]) =>
      [h('dt', { text: a }), h('dd', { text: b })]));
  }

  function flameButton(functions) {
    const focus = focusOf(functions.rows.map((f) => f.name));
    const cut = focus.n < functions.functions
      ? ' (of the first ' + focus.n + ' functions)' : '';
    return h('button', { type: 'button', class: 'button dep-flame',
      text: 'Flame graph of it' + cut, onclick: () => ns.view.set({
        tab: 'profiles', view: 'flame', focus: focus.text, ignore: '',
        zoom: '', search: '' }) });
  }

  function functionList(data, id) {
    const f = data.node;
    if (!hasCost(data) || !f || f.id !== id || f.rows.length === 0)
      return [];
    const left = f.functions - Math.min(f.rows.length, MOST);
    return [flameButton(f), ...section('Functions (' + f.functions + ')',
      [...f.rows.slice(0, MOST).map((r) => row(h('span', { class:
        'dep-function', text: r.name }), share(r.total, data))),
      ...(left > 0 ? ['and ' + left + ' more'] : [])])];
  }

  function whyList(root, id, x) {
    const w = id === root ? null : ns.graphWalk.why(x, root, id);
    if (!w)
      return id === root ? [] : [h('p', { class: 'absent',
        text: 'Nothing that is declared leads here.' })];
    const more = w.count - Math.min(w.some.length, 5);
    return section('Why: ' + ns.format.count(w.count) + (w.count === 1
      ? ' shortest path of ' : ' shortest paths of ') + w.length,
    [...w.some.slice(0, 5).map((path) => h('span', {}, path.slice(0, -1)
      .flatMap((a) => [nodeButton(a), ' → ']), path[path.length - 1])),
    ...(more > 0 ? ['and ' + ns.format.count(more) + ' more'] : [])]);
  }

  function neighbours(data, id, from, to, title) {
    const edges = data.edges.filter((e) => e[from] === id);
    return section(title + ' (' + edges.length + ')', edges.map((e) =>
      row(h('span', {}, nodeButton(e[to]), e.kind === 'condition'
        ? ' if ' + e.label : e.kind === 'seen' ? ' (seen in stacks alone)'
          : ''), hasCost(data) && e.calls > 0 ? share(e.calls, data) : '')));
  }

  function chosen(data, x, root, id) {
    const node = data.nodes.find((n) => n.id === id);
    const only = ns.graphWalk.only(x, root, id);
    return [h('h3', { class: 'dep-name', text: id }), facts(node, data),
      ...functionList(data, id), ...whyList(root, id, x),
      ...neighbours(data, id, 'from', 'to', 'Needs'),
      ...neighbours(data, id, 'to', 'from', 'Needed by'),
      ...section('Only it needs (' + only.length + ')',
        only.map((o) => nodeButton(o)))];
  }

  /* What to show of an answer: of a node that it has, or of all. */
  function content(data, x, root, id) {
    return data.nodes.some((n) => n.id === id) ? chosen(data, x, root, id)
      : overview(data, x);
  }

  ns.depsSide = { content, focusOf };
})(globalThis.MemLens = globalThis.MemLens || {});
