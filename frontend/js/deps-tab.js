/*
 * Tab "Dependencies": what the target is built from, two to four steps deep,
 * as a graph that can be moved, searched and walked, and the command that
 * made it.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const DEPTHS = ['2', '3', '4'];
  const ALLOWED = new Set(['svg', 'g', 'path', 'polygon', 'polyline',
    'ellipse', 'circle', 'rect', 'line', 'text', 'tspan', 'title', 'a',
    'defs', 'marker']);

  /*
   * The server's SVG as elements of this page, so that nodes can be searched
   * and styled: only shapes and text pass, no script, style, handler or link.
   */
  function clean(text) {
    const doc = new DOMParser().parseFromString(text, 'image/svg+xml');
    const svg = doc.documentElement;
    if (svg.localName !== 'svg' || !svg.getAttribute('viewBox'))
      throw new Error('the server sent no drawing');
    for (const node of svg.querySelectorAll('*'))
      if (!ALLOWED.has(node.localName))
        node.remove();
    for (const node of [svg, ...svg.querySelectorAll('*')])
      for (const { name } of [...node.attributes])
        if (/^on|^style$|href$/i.test(name))
          node.removeAttribute(name);
    svg.removeAttribute('width');
    svg.removeAttribute('height');
    return document.importNode(svg, true);
  }

  function titleOf(node) {
    const t = node.querySelector('title');
    return t ? t.textContent : '';
  }

  const idOf = (n) => (typeof n === 'string' ? n
    : String(n.id !== undefined ? n.id : n.name || n.label));

  /* Edges as [from, to], whichever way the JSON spells them. */
  function edgesOf(graph) {
    return (graph.edges || []).map((e) => (Array.isArray(e) ? e
      : [e.from !== undefined ? e.from : e.source,
        e.to !== undefined ? e.to : e.target])).map(([a, b]) =>
      [String(a), String(b)]);
  }

  function create(root) {
    const g = { graph: null, nodes: new Map(), zoom: null };
    const depth = DEPTHS.map((d) => h('button', { type: 'button',
      class: 'segment', text: d, 'data-value': d,
      'aria-label': d + ' levels', onclick: () => ns.view.set({ depth: d }) }));
    const target = ns.card.picker('Target', (value) =>
      ns.view.set({ target: value, node: '' }));
    const search = h('input', { type: 'search', class: 'search-input',
      placeholder: 'Find a node', 'aria-label': 'Find a node',
      spellcheck: 'false', list: 'dep-nodes',
      oninput: () => seek(search.value, false),
      onkeydown: (e) => {
        if (e.key === 'Enter')
          seek(search.value, true);
      } });
    const names = h('datalist', { id: 'dep-nodes' });
    const found = h('span', { class: 'matched', role: 'status' });
    const button = (label, name, act) => h('button', { type: 'button',
      class: 'icon-button', 'aria-label': label, title: label,
      onclick: act }, ns.dom.icon(name));
    const host = h('div', { class: 'dep-graph', tabindex: '0',
      role: 'application', 'aria-label': 'Dependency graph. Arrow keys ' +
        'move, + and − zoom, 0 shows all.' });
    const note = h('p', { class: 'chart-note', hidden: true });
    const side = h('aside', { class: 'dep-side', 'aria-live': 'polite',
      'aria-label': 'Chosen node' });
    const command = h('code', { class: 'command-text' });
    const size = h('span', { class: 'card-aside' });

    root.append(h('article', { class: 'card dep-card' },
      h('header', { class: 'card-head' },
        h('h3', { class: 'card-title', text: 'Dependency graph' }),
        ns.dom.infoButton('Dependency graph', ['What the chosen target is ' +
          'built from: each arrow says "needs". Depth is the number of ' +
          'arrows followed from the target.', 'Drag to move; click into ' +
          'the graph, then turn the wheel to zoom.']),
        h('span', { class: 'spacer' }), size),
      h('div', { class: 'flame-toolbar' }, target.node,
        h('div', { class: 'segments', role: 'group', 'aria-label': 'Depth' },
          h('span', { class: 'segments-label', text: 'Depth' }), depth),
        h('label', { class: 'search-field' }, ns.dom.icon('search'), search),
        names, found, h('span', { class: 'spacer' }),
        button('Zoom in', 'zoomIn', () => g.zoom && g.zoom.zoom(0.7)),
        button('Zoom out', 'zoomOut', () => g.zoom && g.zoom.zoom(1.4)),
        button('Show all', 'fit', () => g.zoom && g.zoom.fit())),
      h('div', { class: 'dep-body' }, h('div', { class: 'dep-stage' }, host,
        note), side),
      h('footer', { class: 'command' },
        h('span', { class: 'command-label', text: 'Command' }), command,
        ns.dom.copyButton('Copy the command', () => command.textContent))));

    function links(title, list) {
      return [h('h4', { text: title + ' (' + list.length + ')' }),
        h('ul', { class: 'dep-links' }, list.map((id) => h('li', {},
          h('button', { type: 'button', class: 'fn-name', text: id,
            onclick: () => ns.view.set({ node: id }) }))))];
    }

    function choose(id) {
      const edges = g.graph ? edgesOf(g.graph) : [];
      const needs = edges.filter(([a]) => a === id).map(([, b]) => b);
      const needed = edges.filter(([, b]) => b === id).map(([a]) => a);
      const node = g.nodes.get(id);
      host.classList.toggle('dep-chosen', !!node);
      for (const [name, el] of g.nodes) {
        el.classList.toggle('dep-this', name === id);
        el.classList.toggle('dep-near', needs.includes(name) ||
          needed.includes(name));
      }
      for (const el of host.querySelectorAll('g.edge')) {
        const [a, b] = titleOf(el).split('->');
        el.classList.toggle('dep-near', a === id || b === id);
      }
      side.replaceChildren(...(node
        ? [h('h3', { class: 'dep-name', text: id }), links('Needs', needs),
          links('Needed by', needed)]
        : [h('p', { class: 'absent', text: 'Choose a node to see what it ' +
            'needs and what needs it.' })]).flat());
      if (node)
        g.zoom.centre(node);
    }

    function seek(text, go) {
      const match = ns.flameTree.matcher(text);
      const hits = [];
      for (const [id, el] of g.nodes) {
        const hit = !!(match && match.test && match.test(id));
        el.classList.toggle('dep-hit', hit);
        if (hit)
          hits.push(id);
      }
      found.textContent = match ? hits.length + ' of ' + g.nodes.size : '';
      if (hits.length && (go || hits.includes(text))) {
        const now = hits.indexOf(ns.view.get().node);
        ns.view.set({ node: hits[(now + 1) % hits.length] });
      }
    }

    function wire(svg) {
      g.nodes = new Map();
      for (const el of svg.querySelectorAll('g.node')) {
        const id = titleOf(el);
        g.nodes.set(id, el);
        el.setAttribute('tabindex', '0');
        el.setAttribute('role', 'button');
        el.setAttribute('aria-label', id);
        el.addEventListener('click', () => ns.view.set({ node: id }));
        el.addEventListener('keydown', (e) => {
          if (e.key === 'Enter' || e.key === ' ') {
            e.preventDefault();
            ns.view.set({ node: id });
          }
        });
      }
    }

    function draw(graph, text, state) {
      const svg = clean(text);
      svg.setAttribute('class', 'dep-svg');
      svg.setAttribute('role', 'group');
      host.replaceChildren(svg);
      wire(svg);
      g.graph = graph;
      if (g.drawn)
        g.drawn.abort();
      g.drawn = new AbortController();
      g.zoom = ns.panzoom.attach(host, svg, g.drawn.signal);
      command.textContent = graph.command || '';
      size.textContent = (graph.nodes || []).length + ' nodes, ' +
        (graph.edges || []).length + ' edges';
      names.replaceChildren(...(graph.nodes || []).map((n) =>
        h('option', { value: idOf(n) })));
      const targets = graph.targets || [graph.target];
      target.set(targets.map((t) => [t, t]), graph.target);
      for (const el of g.nodes.values())
        el.classList.toggle('dep-root', titleOf(el) === graph.target);
      note.hidden = true;
      choose(state.node);
      seek(search.value, false);
    }

    async function refresh(ctx) {
      const { state, signal } = ctx;
      const params = { depth: state.depth, target: state.target };
      try {
        const [graph, text] = await Promise.all([
          ns.api.get('graph.json', params, { signal }),
          ns.api.get('graph.svg', params, { signal, text: true })]);
        draw(graph, text, state);
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        note.textContent = e.message;
        note.hidden = false;
        host.replaceChildren();
        g.nodes = new Map();
      }
      arrange(state);
    }

    function arrange(state) {
      for (const b of depth)
        b.setAttribute('aria-pressed',
          String(b.dataset.value === state.depth));
      if (g.zoom)
        choose(state.node);
    }

    return { refresh, arrange, search, still: true,
      keys: ['depth', 'target'], local: ['node'] };
  }

  ns.depsTab = { create, clean, edgesOf };
})(globalThis.MemLens = globalThis.MemLens || {});
