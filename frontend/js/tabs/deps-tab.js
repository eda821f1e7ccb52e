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
  'Difference shows a base, A, and the range of this page, B: blue is less, ' +
    'orange more, as in the flame graph, faint where few samples tell.',
  'Drag to move; click into the graph, then turn the wheel to zoom.'];
  const LEAST = [['', 'All nodes'], ['0.1', '0.1 % and more'],
    ['1', '1 % and more'], ['10', '10 % and more']];

  /* Whether all of it is there is said only where the source says so. */
  function completeText(complete) {
    return complete === true ? ''
      : complete === false ? ', shortened: there are more'
        : ', as far as the file goes: it does not say whether it is all';
  }

  /* Whether the build that ran is the graph's; what speaks against it stands
   * in the source. */
  function ranText({ profile, build_id: id, same_build: same }) {
    return !id ? '' : ', build id ' + id + (!profile ? ''
      : same === true ? ', the build that ran'
        : same === false ? ', not the build that ran'
          : ', and which build ran is not known');
  }

  function sourceText(data) {
    const { source, time, told } = data;
    const when = (text, t) => (Number.isFinite(t) && t > 0
      ? ', ' + text + ' ' + ns.format.dateTime(t) : '');
    return !source ? '' : 'Source: ' + source + when('written', time) +
      when('told', told) + ranText(data);
  }

  class DepsTab {
    constructor(root) {
      this.data = null;
      this.graph = new ns.depsGraph.DepsGraph((node) =>
        ns.view.set({ node, of: '' }), (node) => this.hover(node));
      this.note = h('p', { class: 'chart-note', text: 'Loading…' });
      this.side = h('aside', { class: 'dep-side', 'aria-live': 'polite',
        'aria-label': 'Chosen node', tabindex: '-1' });
      this.command = h('code', { class: 'command-text' });
      this.source = h('p', { class: 'command-source' });
      this.size = h('span', { class: 'card-aside' });
      root.append(h('h2', { class: 'visually-hidden', text: 'Dependencies' }),
        h('article', { class: 'card dep-card' },
        h('header', { class: 'card-head' },
          h('h3', { class: 'card-title', text: 'Dependency graph' }),
          ns.dom.infoButton('Dependency graph', INFO),
          h('span', { class: 'spacer' }), this.size),
        this.toolbar(), this.pair = h('div', { class: 'dep-pair',
          hidden: true }, (this.ab = ns.abBar.create()).node),
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
        text: 'Packages', title: 'One node for each package: by itself ' +
          'where there are many nodes', onclick: () => ns.view.set({
          packages: this.data && this.data.collapsed ? '0' : '1',
          node: '', start: '' }) });
      this.diff = h('button', { type: 'button', class: 'button toggle',
        text: 'Difference', title: 'Two ranges on one graph',
        onclick: () => ns.view.set({ diff: ns.view.get().diff ? ''
          : '1' }) });
      this.search = h('input', { type: 'search', class: 'search-input',
        placeholder: 'Find a node or function',
        'aria-label': 'Find a node or function',
        spellcheck: 'false', list: 'dep-nodes',
        oninput: () => this.seek(false),
        onkeydown: (e) => e.key === 'Enter' && this.seek(true) });
      this.names = h('datalist', { id: 'dep-nodes' });
      this.found = h('span', { class: 'matched', role: 'status' });
      return h('div', { class: 'flame-toolbar' }, this.target.node,
        h('div', { class: 'segments', role: 'group', 'aria-label': 'Depth' },
          h('span', { class: 'segments-label', text: 'Depth' }), this.depth),
        this.collapse = h('div', { class: 'segments' }, this.packages),
        this.type.node, this.least.node, this.diff,
        h('label', { class: 'search-field' }, ns.dom.icon('search'),
          this.search), this.names, this.found,
        h('span', { class: 'spacer' }),
        h('div', { class: 'dep-zoom' },
          button('Zoom in', 'zoomIn', (v) => v.zoom(0.7)),
          button('Zoom out', 'zoomOut', (v) => v.zoom(1.4)),
          button('Show all', 'fit', (v) => v.fit())));
    }

    choose(state) {
      const { node, start } = state;
      if (!this.data)
        return;
      const near = ns.depsGraph.edgesOf(this.data).filter((e) =>
        e.includes(node)).flat();
      this.graph.choose(node, new Set(near.filter((x) => x !== node)));
      this.hover(''); /* the paths that were asked for stay */
      const told = JSON.stringify([node, start, state.of]);
      if (told === this.told && this.data === this.toldOf)
        return;
      Object.assign(this, { told, toldOf: this.data });
      this.side.replaceChildren(...ns.depsSide.content(this.data, this.index,
        this.root, state));
    }

    /* The shortest paths to what the pointer is on, from the root; else those
     * from where the reader began to what is chosen. */
    hover(id) {
      const { node, start } = ns.view.get();
      this.graph.trace(!this.data ? null : id ? ns.graphWalk.why(this.index,
        this.root, id) : start && node ? ns.graphWalk.why(this.index, start,
        node) : null);
    }

    /* What costs too little goes, the way to the rest stays. */
    filter(least) {
      const { data } = this;
      this.graph.keep(data && ns.graphCost.hasCost(data) && least
        ? ns.graphWalk.costly(data, this.index, this.root, (node) =>
          ns.graphCost.most(node, 'total', data), Number(least) / 100)
        : null);
    }

    /* go: walk from hit to hit; a full name goes there by itself, and what
     * no node is called may be a function. */
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
      else if (go && text)
        ns.view.set({ of: text, node: '' });
    }

    /* The reader was led here by a function: to what is said of it. */
    land() {
      this.side.scrollIntoView({ block: 'nearest' });
      this.side.focus({ preventScroll: true });
    }

    /* A function was asked for: its node is chosen, where it is shown and
     * no other function is called so. */
    follow(data, state) {
      const homes = state.of && !state.node && data.function
        ? ns.graphCost.list(data.function, 'nodes', data) : [];
      if (homes.some((p) => p.name !== homes[0].name))
        return;
      const home = homes.find((p) => data.nodes.some((n) => n.id === p.id));
      if (home)
        ns.view.set({ node: home.id }, { replace: true });
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

    /* The ranges that are asked for: of a recording what it has, which is
     * all of it. */
    ranges(ctx) {
      const { state, range } = ctx;
      if (ns.mode.current === 'offline')
        return {};
      if (!state.diff)
        return { from: range.from, until: range.until };
      const { a, b } = ns.abBar.pair(state, range);
      this.ab.show(a, b);
      return { from: a.from, until: a.until, 'from-b': b.from,
        'until-b': b.until };
    }

    /* {all, one}: types of profiles; of a recording those whose costs it
     * has. */
    async types(ctx) {
      const { state, service } = ctx;
      const found = await ns.types.choose(ctx.services, service, state.type,
        ctx.signal);
      if (ns.mode.current !== 'offline')
        return found;
      const all = found.all.filter((t) => ns.recording.hasCost(
        ns.mode.snapshot, state.depth, ns.types.selector(t, service)));
      return { all, one: all.find((t) => t === found.one) || all[0] || null };
    }

    async params(ctx) {
      const { state } = ctx;
      const params = { depth: state.depth, target: state.target };
      const { all, one } = await this.types(ctx);
      this.type.set(all.map((t) => [t.name, t.title]), one ? one.name : '');
      return Object.assign(params, ns.mode.current !== 'offline' &&
        { collapse: state.packages || 'auto' },
      one && Object.assign({ query: ns.types.selector(one, ctx.service) },
        this.ranges(ctx)));
    }

    /* The graph and its drawing. */
    async ask(params, { state, signal }) {
      const cost = params.query !== undefined;
      return Promise.all([
        ns.api.get('graph.json', Object.assign({}, params, cost &&
          state.node && { node: state.node }, cost && state.of &&
          { function: state.of }), { signal }),
        ns.api.get('graph.svg', Object.assign({}, params, cost &&
          { plain: 1 }), { signal, text: true })]);
    }

    /* A service of which no profile is kept has a graph nevertheless, and
     * what an address names may be gone. */
    async answer(params, ctx) {
      try {
        return await this.ask(params, ctx);
      } catch (e) {
        if (e.status !== 404 || !params.query)
          throw e;
        if (e.field === 'node')
          return this.ask(params, Object.assign({}, ctx, { state:
            Object.assign({}, ctx.state, { node: '' }) }));
        if (e.field !== 'query')
          throw e;
        const { depth, target, collapse } = params;
        const [data, text] = await this.ask({ depth, target, collapse }, ctx);
        return [Object.assign(data, { costless: e.message }), text];
      }
    }

    async refresh(ctx) {
      const { state, signal } = ctx;
      this.choose(state); /* of what is there; functions follow */
      try {
        const params = await this.params(ctx);
        const [[data, text]] = await Promise.all([this.answer(params, ctx),
          state.diff ? ns.abBar.runs(signal).catch(() => []) : null]);
        this.show(data, text);
        this.follow(data, state);
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
      const cost = !!this.data && !!this.data.profile;
      this.packages.setAttribute('aria-pressed', String(!!this.data &&
        !!this.data.collapsed));
      this.diff.setAttribute('aria-pressed', String(!!state.diff));
      this.pair.hidden = offline || !state.diff;
      this.collapse.hidden = this.diff.hidden = offline;
      this.type.node.hidden = this.least.node.hidden = offline && !cost;
      this.least.set(LEAST, state.least);
      this.filter(state.least);
      this.choose(state);
    }
  }

  ns.depsTab = { create: (root) => new DepsTab(root) };
})(globalThis.MemLens = globalThis.MemLens || {});
