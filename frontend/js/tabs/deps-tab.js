/*
 * Tab "Dependencies": what the target is built from, two to four steps deep,
 * where that was read, and the command that prints the same.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const INFO = ['What the chosen target is built from: each arrow says ' +
    '“needs”. Depth is the number of arrows followed from the target.',
  'Drag to move; click into the graph, then turn the wheel to zoom.'];

  /* Whether all of it is there is said only where the source says so. */
  function completeText(complete) {
    return complete === true ? ''
      : complete === false ? ', shortened: there are more'
        : ', as far as the file goes: it does not say whether it is all';
  }

  function sourceText({ source, time }) {
    return !source ? '' : 'Source: ' + source + (Number.isFinite(time)
      ? ', written ' + ns.format.dateTime(time) : '');
  }

  class DepsTab {
    constructor(root) {
      this.data = null;
      this.graph = new ns.depsGraph.DepsGraph((node) =>
        ns.view.set({ node }));
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
        'aria-label': d + ' levels',
        onclick: () => ns.view.set({ depth: d }) }));
      this.target = ns.card.picker('Target', (target) =>
        ns.view.set({ target, node: '' }));
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
        h('label', { class: 'search-field' }, ns.dom.icon('search'),
          this.search), this.names, this.found,
        h('span', { class: 'spacer' }),
        button('Zoom in', 'zoomIn', (v) => v.zoom(0.7)),
        button('Zoom out', 'zoomOut', (v) => v.zoom(1.4)),
        button('Show all', 'fit', (v) => v.fit()));
    }

    links(title, list) {
      return [h('h4', { text: title + ' (' + list.length + ')' }),
        h('ul', { class: 'dep-links' }, list.map((id) => h('li', {},
          h('button', { type: 'button', class: 'fn-name', text: id,
            onclick: () => ns.view.set({ node: id }) }))))];
    }

    choose(id) {
      const edges = ns.depsGraph.edgesOf(this.data);
      const needs = edges.filter(([a]) => a === id).map(([, b]) => b);
      const needed = edges.filter(([, b]) => b === id).map(([a]) => a);
      this.graph.choose(id, new Set([...needs, ...needed]));
      this.side.replaceChildren(...(this.graph.nodes.has(id)
        ? [h('h3', { class: 'dep-name', text: id }),
          ...this.links('Needs', needs), ...this.links('Needed by', needed)]
        : [h('p', { class: 'absent', text: 'Choose a node to see what it ' +
            'needs and what needs it.' })]));
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
      this.graph.draw(text, ns.depsGraph.rootOf(data));
      this.command.textContent = data.command || '';
      this.footer.hidden = !data.command;
      ns.dom.say(this.source, sourceText(data));
      this.size.textContent = nodes.length + ' nodes, ' +
        (data.edges || []).length + ' edges' + completeText(data.complete);
      this.names.replaceChildren(...[...this.graph.nodes.keys()]
        .map((value) => h('option', { value })));
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

    async refresh({ state, signal }) {
      const params = { depth: state.depth, target: state.target };
      try {
        const [data, text] = await Promise.all([
          ns.api.get('graph.json', params, { signal }),
          ns.api.get('graph.svg', params, { signal, text: true })]);
        this.show(data, text);
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        this.fail(e.message);
      }
      this.arrange(state);
    }

    arrange(state) {
      for (const b of this.depth)
        b.setAttribute('aria-pressed',
          String(b.dataset.value === state.depth));
      this.choose(state.node);
    }
  }

  ns.depsTab = { create: (root) => new DepsTab(root) };
})(globalThis.MemLens = globalThis.MemLens || {});
