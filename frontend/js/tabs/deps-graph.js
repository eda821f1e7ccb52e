/*
 * The drawing of a dependency graph: the server's SVG, disarmed, with nodes
 * that can be chosen, found and walked.
 */
(function (ns) {
  'use strict';

  const ALLOWED = new Set(['svg', 'g', 'path', 'polygon', 'polyline',
    'ellipse', 'circle', 'rect', 'line', 'text', 'tspan', 'title', 'a',
    'defs', 'marker']);
  const HOW = 'Dependency graph. Arrow keys move, + and − zoom, 0 shows ' +
    'all, Tab walks the nodes.';

  /*
   * The SVG as elements of this page, so that nodes can be searched and
   * styled: only shapes and text pass, no script, style, handler or link.
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
    svg.setAttribute('class', 'dep-svg');
    svg.setAttribute('role', 'group');
    return document.importNode(svg, true);
  }

  function titleOf(node) {
    const t = node.querySelector('title');
    return t ? t.textContent : '';
  }

  /* Edges of the JSON as [from, to], whichever way it spells them; pure. */
  function edgesOf(graph) {
    return ((graph && graph.edges) || []).map((e) => (Array.isArray(e) ? e
      : [e.from !== undefined ? e.from : e.source,
        e.to !== undefined ? e.to : e.target])).map(([a, b]) =>
      [String(a), String(b)]);
  }

  /* The node that stands for the target itself; pure. */
  function rootOf(graph) {
    const nodes = (graph && graph.nodes) || [];
    const root = nodes.find((n) => n.level === 0) ||
      nodes.find((n) => n.id === graph.target) || nodes[0];
    return root ? root.id : '';
  }

  class DepsGraph {
    constructor(onChoose) {
      this.onChoose = onChoose;
      this.nodes = new Map();
      this.host = ns.dom.h('div', { class: 'dep-graph', tabindex: '0',
        role: 'application', 'aria-label': HOW });
    }

    clear() {
      this.host.replaceChildren();
      this.nodes = new Map();
      this.view = null;
    }

    draw(text, root) {
      if (this.drawn)
        this.drawn.abort();
      this.drawn = new AbortController();
      const svg = clean(text);
      this.host.replaceChildren(svg);
      this.nodes = new Map();
      for (const el of svg.querySelectorAll('g.node'))
        this.wire(el, titleOf(el), root);
      this.view = new ns.panzoom.PanZoom(this.host, svg, this.drawn.signal);
    }

    wire(el, id, root) {
      this.nodes.set(id, el);
      el.setAttribute('tabindex', '0');
      el.setAttribute('role', 'button');
      el.setAttribute('aria-label', id);
      el.classList.toggle('dep-root', id === root);
      el.addEventListener('click', () => this.onChoose(id));
      el.addEventListener('keydown', (e) => {
        if (e.key !== 'Enter' && e.key !== ' ')
          return;
        e.preventDefault();
        this.onChoose(id);
      });
    }

    /* Marks a node and its neighbours and brings it into view. */
    choose(id, near) {
      const node = this.nodes.get(id);
      this.host.classList.toggle('dep-chosen', !!node);
      for (const [name, el] of this.nodes) {
        el.classList.toggle('dep-this', name === id);
        el.classList.toggle('dep-near', near.has(name));
      }
      for (const el of this.host.querySelectorAll('g.edge'))
        el.classList.toggle('dep-near',
          titleOf(el).split('->').includes(id));
      if (node)
        this.view.centre(node);
    }

    /* Marks the nodes that match; returns their names. */
    seek(match) {
      const hits = [];
      for (const [id, el] of this.nodes) {
        const hit = !!(match && match.test && match.test(id));
        el.classList.toggle('dep-hit', hit);
        if (hit)
          hits.push(id);
      }
      return hits;
    }
  }

  ns.depsGraph = { DepsGraph, clean, edgesOf, rootOf };
})(globalThis.MemLens = globalThis.MemLens || {});
