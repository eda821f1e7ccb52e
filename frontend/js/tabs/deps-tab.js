/*
 * Tab "Dependencies": what the target is built from, what each part costs of
 * the chosen profile, where that was read, and the command that prints the
 * same.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const INFO = ['What the chosen target is built from: each arrow says ' +
    '“needs”. Depth is the number of arrows followed from the target.',
  'A bar in a node is its share of the profile: stacks that it is in, and ' +
    'darker those that end in it. What nobody declares and stacks show is ' +
    'dashed, as are conditions. Edges from nodes of the last level have ' +
    'an open arrow.',
  'Drag to move; click into the graph, then turn the wheel to zoom.'];
  const LEAST = [['', 'All nodes'], ['0.1', '0.1 % and more'],
    ['1', '1 % and more'], ['10', '10 % and more']];

  /* Whether all of it is there is said only where the source says so. */
  function completeText(complete) {
    return complete === true ? ''
      : complete === false ? ', shortened: there are more'
        : ', as far as the file goes: it does not say whether it is all';
  }

  function sourceText({ source, time, told, build_id: id }) {
    const when = (text, t) => (Number.isFinite(t) && t > 0
      ? ', ' + text + ' ' + ns.format.dateTime(t) : '');
    return !source ? '' : 'Source: ' + source + when('written', time) +
      when('told', told) + (id ? ', build id ' + id : '');
  }

  class DepsTab {
    constructor(root) {
      this.data = null;
      this.graph = new ns.depsGraph.DepsGraph((node) =>
        ns.view.set({ node }), (node) => this.hover(node));
      this.note = h('p', { class: 'chart-note', text: 'Loading…' });
      this.side = h('aside', { class: 'dep-side', 'aria-live': 'polite',
        'aria-label': 'Chosen node' });
      this.command = h('code', { class: 'command-text' });
      this.source = h('p', { class: 'command-source' });
      this.size = h('span', { class: 'card-aside' });
      root.append(h('h2', { class: 'visually-hidden', text: 'Dependencies' }),
        h('article', { class: 'card dep-card' },
        h('header', { class: 'card-head' },
          h('h3', { class: 'card-title', text: 'Dependency graph' }),
          ns.dom.infoButton('Dependency graph', INFO),
          h('span', { class: 'spacer' }), this.size),
        this.toolbar(),
        h('div', { class: 'dep-body' }, h('div', { class: 'dep-stage' },
          this.graph.host, this.note), this.side),
        this.source, this.footer = h('footer', { class: 'command' },
          h('span', { class: 'command-label', text: 'Command' }),
          this.command, ns.dom.copyButton('Copy the command',
            () => this.command.textContent))));
    }

    toolbar() {
      const button = (label, icon, act) => h('button', { type: 'button',
        class: 'icon-button', 'aria-label': label, title: label,
        onclick: () => this.graph.view && act(this.graph.view) },
      ns.dom.icon(icon));
      this.depth = ns.views.DEPTHS.map((d) => h('button', { type: 'button',
        class: 'segment', text: d, 'data-value': d,
        'aria-label': d === 'all' ? 'All levels' : d + ' levels',
        onclick: () => ns.view.set({ depth: d }) }));
      this.target = ns.card.picker('Target', (target) =>
        ns.view.set({ target, node: '' }));
      this.type = ns.card.picker('Cost', (type) => ns.view.set({ type }));
      this.least = ns.card.picker('Show', (least) => ns.view.set({ least }));
      this.packages = h('button', { type: 'button', class: 'segment',
        text: 'Packages', title: 'One node for each package',
        onclick: () => ns.view.set({ packages: ns.view.get().packages ? ''
          : '1', node: '' }) });
      this.search = h('input', { type: 'search', class: 'search-input',
        placeholder: 'Find a node', 'aria-label': 'Find a node',
        spellcheck: 'false', list: 'dep-nodes',
        oninput: () => this.seek(false),
        onkeydown: (e) => e.key === 'Enter' && this.seek(true) });
      this.names = h('datalist', { id: 'dep-nodes' });
      this.found = h('span', { class: 'matched', role: 'status' });
      return h('div', { class: 'flame-toolbar' }, this.target.node,
        h('div', { class: 'segments', role: 'group', 'aria-label': 'Depth' },
          h('span', { class: 'segments-label', text: 'Depth' }), this.depth),
        h('div', { class: 'segments' }, this.packages),
        this.type.node, this.least.node,
        h('label', { class: 'search-field' }, ns.dom.icon('search'),
          this.search), this.names, this.found,
        h('span', { class: 'spacer' }),
        h('div', { class: 'dep-zoom' },
          button('Zoom in', 'zoomIn', (v) => v.zoom(0.7)),
          button('Zoom out', 'zoomOut', (v) => v.zoom(1.4)),
          button('Show all', 'fit', (v) => v.fit())));
    }

    choose(id) {
      if (!this.data)
        return;
      const near = ns.depsGraph.edgesOf(this.data).filter((e) =>
        e.includes(id)).flat();
      this.graph.choose(id, new Set(near.filter((x) => x !== id)));
      this.side.replaceChildren(...ns.depsSide.content(this.data, this.index,
        this.root, id));
    }

    /* The shortest paths to what the pointer is on. */
    hover(id) {
      this.graph.trace(id && this.data ? ns.graphWalk.why(this.index,
        this.root, id) : null);
    }

    /* What costs too little goes, the way to the rest stays. */
    filter(least) {
      const p = this.data && this.data.profile;
      this.graph.keep(p && p.total > 0 && least ? ns.graphWalk.costly(
        this.data, this.index, this.root, p.total, Number(least) / 100)
        : null);
    }

    /* go: walk from hit to hit; a full name goes there by itself. */
    seek(go) {
      const text = this.search.value;
      const match = ns.flameTree.matcher(text);
      const hits = this.graph.seek(match);
      this.found.textContent = match
        ? hits.length + ' of ' + this.graph.nodes.size : '';
      if (hits.includes(text) && !go)
        ns.view.set({ node: text });
      else if (hits.length && go)
        ns.view.set({ node: hits[(hits.indexOf(ns.view.get().node) + 1) %
          hits.length] });
    }

    show(data, text) {
      const nodes = data.nodes || [];
      this.data = data;
      this.root = ns.depsGraph.rootOf(data);
      this.index = ns.graphWalk.index(data);
      this.graph.draw(text, data);
      this.command.textContent = data.command || '';
      this.footer.hidden = !data.command;
      ns.dom.say(this.source, sourceText(data));
      this.size.textContent = nodes.length + ' nodes, ' +
        (data.edges || []).length + ' edges' + completeText(data.complete);
      const names = [...this.graph.nodes.keys()];
      if (names.length !== this.names.children.length ||
        names.some((x, k) => this.names.children[k].value !== x))
        this.names.replaceChildren(...names.map((value) =>
          h('option', { value })));
      this.target.set((data.targets || [data.target]).map((t) => [t, t]),
        data.target);
      this.note.hidden = true;
      this.seek(false);
    }

    fail(text) {
      this.data = null;
      this.footer.hidden = true;
      ns.dom.say(this.source, '');
      this.graph.clear();
      ns.dom.say(this.note, text);
      this.note.hidden = false;
    }

    /* What is asked for: of a recording, the graph alone. */
    async params(ctx) {
      const { state } = ctx;
      const params = { depth: state.depth, target: state.target };
      if (ns.mode.current === 'offline') {
        this.type.set([['', 'not recorded']], '');
        return params;
      }
      const { all, one } = await ns.types.choose(ctx.services, ctx.service,
        state.type, ctx.signal);
      this.type.set(all.map((t) => [t.name, t.title]), one ? one.name : '');
      return Object.assign(params, state.packages && { collapse: 1 },
        one && { query: ns.types.selector(one, ctx.service),
          from: ctx.range.from, until: ctx.range.until });
    }

    async refresh(ctx) {
      const { state, signal } = ctx;
      this.choose(state.node); /* of what is there; functions follow */
      try {
        const params = await this.params(ctx);
        const cost = params.query !== undefined;
        const [data, text] = await Promise.all([
          ns.api.get('graph.json', Object.assign({}, params, cost &&
            state.node && { node: state.node }), { signal }),
          ns.api.get('graph.svg', Object.assign({}, params, cost &&
            { plain: 1 }), { signal, text: true })]);
        this.show(data, text);
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        this.fail(e.message);
      }
      this.arrange(ns.view.get());
    }

    arrange(state) {
      const offline = ns.mode.current === 'offline';
      for (const b of this.depth) {
        b.setAttribute('aria-pressed',
          String(b.dataset.value === state.depth));
        b.hidden = offline && b.dataset.value === 'all';
      }
      this.packages.setAttribute('aria-pressed', String(!!state.packages));
      this.packages.hidden = offline;
      this.type.node.hidden = this.least.node.hidden = offline;
      this.least.set(LEAST, state.least);
      this.filter(state.least);
      this.choose(state.node);
    }
  }

  ns.depsTab = { create: (root) => new DepsTab(root) };
})(globalThis.MemLens = globalThis.MemLens || {});
