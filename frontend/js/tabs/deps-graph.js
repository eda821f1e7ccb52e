/*
 * The drawing of a dependency graph: the server's SVG, disarmed, with nodes
 * that can be chosen, found and walked.
 */
(function (ns) {
  'use strict';

  const ALLOWED = new Set(['svg', 'g', 'path', 'polygon', 'polyline',
    'ellipse', 'circle', 'rect', 'line', 'text', 'tspan', 'title', 'a',
    'defs', 'marker']);
  const C = ns.graphCost;
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

  const NS = 'http://www.w3.org/2000/svg';

  function rect(shape, box, name, part, height) {
    const r = document.createElementNS(NS, 'rect');
    const set = { class: name, x: box.x, y: box.y + box.height - height,
      width: box.width * Math.min(1, part), height,
      rx: height === box.height ? 6 : 0 };
    for (const [key, value] of Object.entries(set))
      r.setAttribute(key, value);
    shape.after(r);
    return r;
  }

  /* As the server's picture has it. */
  const border = (self) => (self >= 0.2 ? 4 : self >= 0.05 ? 3
    : self >= 0.01 ? 2 : 1);

  /* Boxes over the node's own: of one profile as wide and as strong as its
   * share, of two in the colour of what moved. */
  function bars(el, node, data) {
    el.querySelectorAll('.dep-heat, .dep-bar').forEach((x) => x.remove());
    el.classList.remove('dep-moved');
    const shape = el.querySelector('path, polygon, ellipse');
    const most = C.most(node, 'total', data);
    if (shape)
      shape.setAttribute('stroke-width', border(C.most(node, 'self',
        data)));
    if (!shape || !(most > 0))
      return;
    const box = shape.getBBox();
    if (C.isPair(data)) {
      const change = C.change(node, 'total', data);
      if (change === null)
        return;
      el.classList.add('dep-moved');
      rect(shape, box, 'dep-heat', 1, box.height).style.fill =
        ns.colour.changed(change, C.isFew(node, 'total', data),
          ns.theme.current());
      return;
    }
    rect(shape, box, 'dep-bar', most, 4);
    rect(shape, box, 'dep-bar dep-self', C.most(node, 'self', data), 4);
    rect(shape, box, 'dep-heat', 1, box.height).style.fillOpacity =
      (0.45 * Math.min(1, most)).toFixed(3);
  }

  class DepsGraph {
    constructor(onChoose, onHover) {
      Object.assign(this, { onChoose, onHover });
      this.nodes = new Map();
      this.edges = new Map();
      ns.theme.on(() => this.data && this.view && this.paint(this.data));
      this.host = ns.dom.h('div', { class: 'dep-graph', tabindex: '0',
        role: 'application', 'aria-label': HOW });
    }

    clear() {
      this.host.replaceChildren();
      this.nodes = new Map();
      this.edges = new Map();
      this.view = null;
      this.text = this.of = '';
    }

    /* The same drawing stays as it is, with its zoom; so does the zoom where
     * the same target is drawn a little differently. */
    draw(text, data) {
      const of = JSON.stringify([data.target, data.depth, data.collapsed]);
      const box = of === this.of && this.view && this.view.box;
      if (text !== this.text)
        this.build(text, rootOf(data));
      if (box)
        this.view.set(box);
      Object.assign(this, { text, of, data });
      const known = new Map(edgesOf(data).map((e) =>
        [e.join('->'), e.join('\n')]));
      this.edges = new Map([...this.host.querySelectorAll('g.edge')]
        .map((el) => [el, known.get(titleOf(el)) || '']));
      this.paint(data);
    }

    build(text, root) {
      if (this.drawn)
        this.drawn.abort();
      this.drawn = new AbortController();
      const svg = clean(text);
      this.host.replaceChildren(svg);
      this.nodes = new Map();
      for (const el of svg.querySelectorAll('g.node'))
        this.wire(el, titleOf(el), root);
      this.view = new ns.panzoom.PanZoom(this.host, svg, this.drawn.signal,
        this.nodes.get(root));
    }

    /* What each node costs, in the room that the drawing has for it. */
    paint(data) {
      const by = new Map(data.nodes.map((n) => [n.id, n]));
      for (const [id, el] of this.nodes) {
        const node = by.get(id) || {}, text = C.text(node, data);
        const line = el.querySelector('text:last-of-type');
        if (line && (line.dataset.cost || /^…/.test(line.textContent))) {
          line.dataset.cost = 'yes';
          line.textContent = text;
        }
        /* as it reads on the drawing, for who speaks what they see */
        el.setAttribute('aria-label', text ? id + ' ' + text : id);
        bars(el, node, data);
      }
      this.widen(data);
    }

    /* Lines are as thick as their calls' share. */
    widen(data) {
      const by = new Map(data.edges.map((e) => [e.from + '\n' + e.to,
        C.most(e, 'calls', data)]));
      for (const [el, ends] of this.edges) {
        const path = el.querySelector('path');
        const part = Math.min(1, by.get(ends) || 0);
        if (path)
          path.style.strokeWidth = part >= 0.01 ? 1 + 4 * part + 'px' : '';
      }
    }

    wire(el, id, root) {
      this.nodes.set(id, el);
      el.setAttribute('tabindex', '0');
      el.setAttribute('role', 'button');
      el.setAttribute('aria-label', id);
      el.classList.toggle('dep-root', id === root);
      el.addEventListener('click', () => this.onChoose(id));
      for (const [type, of] of [['pointerenter', id], ['pointerleave', ''],
        ['focus', id], ['blur', '']])
        el.addEventListener(type, () => this.onHover(of));
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
      for (const [el, ends] of this.edges)
        el.classList.toggle('dep-near', ends.split('\n').includes(id));
      if (node && id !== this.chosen)
        this.view.centre(node);
      this.chosen = id;
    }

    /* The paths of graph-walk's why(), or none (null). */
    trace(paths) {
      this.host.classList.toggle('dep-traced', !!paths);
      for (const [id, el] of this.nodes)
        el.classList.toggle('dep-path', !!paths && paths.nodes.has(id));
      for (const [el, ends] of this.edges)
        el.classList.toggle('dep-path', !!paths && paths.edges.has(ends));
    }

    /* Only these nodes (null: all), and edges between them. */
    keep(ids) {
      for (const [id, el] of this.nodes)
        el.classList.toggle('dep-gone', !!ids && !ids.has(id));
      for (const [el, ends] of this.edges)
        el.classList.toggle('dep-gone', !!ids &&
          !ends.split('\n').every((x) => ids.has(x)));
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
