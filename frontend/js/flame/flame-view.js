/*
 * The profile card: toolbar, table, flame graph, sandwich, and the facts
 * beside them (samples, what was lost, which range).  Zoom, search, view,
 * order and the sandwich's function are part of the page's state.  The graph
 * has the largest nodes of the tree; table, search and sandwich are answers
 * of their own, made of all of it.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const T = ns.flameTree, F = ns.format;
  const { unitOf, samplesOf, frameCount, lostText, lostAmount, brokenText,
    observedText, watchedText, coverageText,
    partialText, incompleteText, offShare, thresholdText, partsText, emptyText,
    pathCode, pathFrame } = ns.flameFacts;

  const INFO = ['Each bar is a function, as wide as its part of the profile: ' +
    'of what was sampled while it was on the stack. What it called stands ' +
    'next to it; the order from left to right has no meaning in time.',
  'Click a bar to zoom, Esc goes back one caller. The table counts a ' +
    'recursive function once.'];
  const CUT = 'The graph draws the largest nodes of the call tree; what is ' +
    'in smaller ones is gathered as (other). Table, search and sandwich ' +
    'count all of it by function.';
  /* While somebody types; what a search may mark. */
  const TYPING_MS = 250, FOUND = 5000;
  const LABEL = 'Flame graph. Arrow keys walk the frames, Enter zooms, ' +
    'Escape zooms out. The table has the same numbers.';

  class FlameView {
    constructor() {
      this.answer = null;
      this.f = T.decode(null);
      this.sides = { callers: T.decode(null), callees: T.decode(null) };
      this.unit = unitOf({});
      this.zoomed = 0;
      this.rows = ns.question.create('table.json', () => this.showSearch());
      this.around = ns.question.create('sandwich.json', () =>
        this.showSandwich());
      this.tip = ns.flameTip.tooltip();
      this.makeParts();
      this.makeNode();
      this.say('Loading…');
    }

    makeParts() {
      this.main = ns.flameCanvas.create(this.handlers(() => this.f, {
        label: LABEL,
        onZoom: (i) => this.zoom(i),
        onEscape: () => this.zoom(this.f.parent[this.zoomed] || 0),
        onLayout: (laid) => {
          this.hidden = laid.hidden;
          this.showFacts();
        } }));
      this.callers = ns.flameCanvas.create(this.handlers(
        () => this.sides.callers, { label: 'Callers', up: true }));
      this.callees = ns.flameCanvas.create(this.handlers(
        () => this.sides.callees, { label: 'Callees' }));
      this.table = ns.flameTable.create({
        onSort: (sort) => ns.view.set({ sort }, { replace: true }),
        onPick: (name) => this.pick(name),
        onHover: (row) => this.main.mark(row && this.f.names.findIndex(
          (name, id) => id > 0 && name === row.name &&
            this.f.kinds[id] === row.kind)) });
      this.bar = ns.flameBar.create((pop) => ns.flameExport.fill(pop, this));
      this.search = this.bar.search;
      this.compare = ns.flameCompare.create(this.tip, () =>
        this.showSearch());
      this.time = ns.flameTime.create();
      this.places = ns.flamePlaces.create(() =>
        this.arrange(ns.view.get()));
    }

    /* tree() gives the frames that a canvas shows. */
    handlers(tree, more) {
      const say = (i) => ns.flameTip.sentence(tree(), i, this.zoomed,
        this.unit);
      return Object.assign({
        fill: (i) => (this.unit.states ? ns.colour.state(
          tree().names[tree().name[i]], offShare(tree(), i),
          ns.theme.current()) : null),
        onHover: (i, e) => {
          if (i < 0)
            this.tip.hide();
          else
            this.tip.show(tree(), i, this.zoomed, this.unit, e);
          ns.dom.say(this.detail, i < 0 ? '' : say(i));
        },
        onFocus: (i) => {
          ns.dom.say(this.detail, say(i));
          ns.dom.announce(say(i));
        },
        onMenu: (i, at) => this.menu(tree(), i, at),
        onZoom: (i) => this.pick(tree().names[tree().name[i]]),
        onEscape: () => undefined
      }, more);
    }

    makeNode() {
      this.detail = h('p', { class: 'flame-detail' });
      this.crumbs = h('nav', { class: 'crumbs flame-crumbs',
        'aria-label': 'Zoomed frames' });
      this.facts = h('p', { class: 'flame-facts' });
      this.note = h('p', { class: 'chart-note', hidden: true });
      this.title = h('h3', { class: 'card-title', text: 'Flame graph' });
      this.fn = h('p', { class: 'sandwich-name' });
      this.written = h('p', { class: 'sandwich-place' });
      this.sandwich = h('div', { class: 'sandwich', hidden: true }, this.fn,
        this.written, this.time.node,
        h('h4', { class: 'side-title', text: 'Callers' }), this.callers.node,
        h('h4', { class: 'side-title', text: 'Callees' }), this.callees.node);
      this.pane = h('div', { class: 'flame-pane' }, this.crumbs,
        this.main.node);
      this.body = h('div', { class: 'flame-body' }, this.table.node,
        this.pane, this.sandwich, this.note);
      this.legend = ns.flameBar.legend();
      this.foot = h('footer', { class: 'flame-foot' }, this.detail,
        this.legend.node);
      this.node = h('article', { class: 'card flame-card',
        'aria-label': 'Profile' },
      h('header', { class: 'card-head' }, this.title,
        ns.dom.infoButton('Flame graph', INFO),
        h('span', { class: 'spacer' }), this.facts),
      this.bar.node, this.body, this.compare.node, this.foot);
    }

    offer(types) {
      this.bar.offer(types);
    }

    /* Of waits for work: how much of all is left out, as text; null where
     * the type has none. */
    showIdle(text, shown) {
      this.bar.idle(text, shown);
    }

    zoom(i) {
      ns.view.set({ zoom: i > 0 ? pathCode(this.f, i) : '' });
    }

    showZoom(i) {
      const f = this.f;
      this.tip.hide();
      if (i === this.zoomed && this.crumbed === f)
        return;
      this.crumbed = f;
      this.zoomed = i;
      this.main.zoom(i);
      const up = this.zoomed > 0 ? T.path(f, this.zoomed) : [];
      const name = (k) => f.names[f.name[k]];
      this.crumbs.replaceChildren(...up.map((k, n) => (n === up.length - 1
        ? h('span', { 'aria-current': 'true', text: name(k) })
        : h('button', { type: 'button', class: 'crumb',
          text: n === 0 ? 'all' : name(k), title: name(k),
          onclick: () => this.zoom(k) }))));
      this.crumbs.scrollLeft = this.crumbs.scrollWidth;
    }

    /* A function was chosen: look into it, or search for it (or no more). */
    pick(name) {
      const { view, search } = ns.view.get();
      if (view === 'sandwich')
        ns.view.set({ fn: name });
      else
        ns.view.set({ search: search === name ? '' : name },
          { replace: true });
    }

    menu(f, i, at) {
      const name = f.names[f.name[i]];
      const stack = T.path(f, i).slice(1).map((k) => f.names[f.name[k]]);
      const items = [
        ['Show callers and callees', () =>
          ns.view.set({ view: 'sandwich', fn: name })],
        ['Search for this function', () => ns.view.set({ search: name })],
        ['Its part in the dependency graph', () => ns.view.set({ tab: 'deps',
          of: name, node: '' }, { land: true })],
        ['Copy the name', () => ns.dom.copy(name)],
        ['Copy the stack', () => ns.dom.copy(stack.join(';'))]];
      if (f === this.f)
        items.unshift(['Zoom to this frame', () => this.zoom(i)],
          ['Reset zoom', () => this.zoom(0)]);
      this.tip.hide();
      ns.flameTip.menu(items, at);
    }

    /* The reader was led here: to the graph, and the keys with them. */
    land() {
      this.node.scrollIntoView({ block: 'start' });
      this.main.node.focus({ preventScroll: true });
    }

    showFacts() {
      const m = (this.answer && this.answer.memlens) || {};
      const lost = lostText(m.lost, m.faults === 'service' &&
        m.lost_on_host);
      const parts = [], some = this.f.ticks > 0 || m.slots > 0;
      if (this.f.ticks > 0)
        parts.push(ns.types.amount(this.unit.text(this.f.ticks),
          this.ctx.type));
      const n = this.f.n ? frameCount(this.unit, this.f, 0) : '0';
      if (n !== null && this.answer && some)
        parts.push(n + (/(^| )1$/.test(n) ? ' sample' : ' samples') +
          (this.unit.states ? ' on CPU' : ''));
      if (this.unit.states && this.f.totalUnknown)
        parts.push('off CPU ' + this.unit.text(this.f.totalUnknown[0]));
      const threshold = some && thresholdText(m);
      if (threshold)
        parts.push(threshold);
      const from = ns.time.parse(m.from, 0), until = ns.time.parse(m.until, 0);
      if (Number.isFinite(from) && Number.isFinite(until))
        parts.push(F.range(from, until));
      const cut = m.cut ? m.cut.total : T.gathered(this.f);
      if (this.hidden)
        parts.push(F.count(this.hidden) + ' frames too narrow to draw');
      this.facts.replaceChildren(parts.join(' · '));
      if (this.answer && (some || lost.length))
        this.facts.append(h('span', {
          class: lost.length ? 'lost lost-some' : 'lost',
          text: lost.length ? 'lost: ' + lost.join(', ') + lostAmount(m)
            : 'nothing lost' }));
      const seen = some ? [coverageText(m), observedText(m),
        watchedText(m, ns.mode.slot())].filter(Boolean) : [];
      this.facts.append(...seen.map((part) => h('span', { class: 'lost',
        text: part.text, title: part.why })));
      if (cut > 0)
        this.facts.append(h('span', { class: 'lost', title: CUT, text:
          'not drawn by function: ' + F.percent(cut / this.f.ticks) +
          ' (' + this.unit.text(cut) + ')' }));
      const alone = this.f.ticks > 0 && (partsText(m) || incompleteText(m));
      if (alone)
        this.facts.append(h('span', { class: 'lost lost-some',
          text: alone.text, title: alone.why }));
      else if (m.why && this.f.ticks > 0)
        this.facts.append(h('span', { class: 'lost', text: 'whole spans',
          title: m.why }));
      const partial = partialText(m.partial);
      if (partial)
        this.facts.append(h('span', { class: 'lost lost-some partial',
          text: partial.text, title: partial.why }));
      const broken = this.answer && brokenText(m.broken, m.faults);
      if (broken)
        this.facts.append(h('span', { class: 'lost', text: broken.text,
          title: 'Callers or names are missing in them, their samples ' +
            'count: ' + broken.why }));
    }

    /* Of all of the profile, whatever the graph leaves out. */
    wholly(ctx, more) {
      return Object.assign({}, ctx.params, { 'max-nodes': undefined,
        reverse: undefined }, more);
    }

    /* What the table and the search need of the range; a promise. */
    askRows(ctx, state, options) {
      const match = T.matcher(state.search);
      if (state.view === 'compare' || state.view === 'flame' && !match ||
        match && match.error)
        return undefined;
      return this.rows.ask(this.wholly(ctx, { search: state.search,
        sort: state.sort, limit: state.search ? FOUND
          : ns.flameTable.SHOWN }), options);
    }

    askSandwich(ctx, state, options) {
      if (state.view !== 'sandwich' || !state.fn)
        return undefined;
      return this.around.ask(this.wholly(ctx, { function: state.fn,
        'max-nodes': ctx.params['max-nodes'] }), options);
    }

    /* All that show() will show beside the graph; as the refresh ends, so
     * do these. */
    ask(ctx) {
      const options = { signal: ctx.signal };
      return Promise.all([this.askRows(ctx, ctx.state, options),
        this.askSandwich(ctx, ctx.state, options)]);
    }

    /* The answer to this search, null while it is asked for. */
    found(search) {
      const { answer, params } = this.rows;
      return answer && (params.search || '') === search ? answer : null;
    }

    /* Which names of the graph match: as the server says where it says all,
     * by the same rule in these pages otherwise. */
    marks(search, answer) {
      const match = T.matcher(search);
      if (!match)
        return null;
      if (!answer || answer.functions > answer.rows.length)
        return match.test ? T.search(this.f, match).ids : new Set();
      const names = new Set(answer.rows.map((r) => r.name));
      return new Set(this.f.names.map((name, id) =>
        (id > 0 && names.has(name) ? id : 0)).filter((id) => id > 0));
    }

    showSearch(state = ns.view.get()) {
      if (state.view === 'compare') {
        this.bar.show(state, ...this.compare.arrange(state, this.ctx));
        return;
      }
      const answer = this.found(state.search), { error } = this.rows;
      const match = T.matcher(state.search);
      const wrong = !!(match && match.error) || !!error &&
        error.field === 'search' && this.rows.params.search === state.search;
      this.bar.show(state, !state.search ? '' : wrong ? 'not an expression'
        : answer ? F.percent(answer.matched.share) + ' matched' : '…', wrong);
      this.main.search(this.marks(state.search, answer));
      /* while it is asked for, what was there before stays, greyed */
      const all = answer || this.rows.answer, rows = all ? all.rows : [];
      this.table.node.setAttribute('aria-busy',
        String(!answer && !error && !wrong));
      this.table.show({ rows, more: all ? all.functions - rows.length : 0, empty: error ? error.message : !answer ? 'Loading…'
        : state.search ? 'No function matches.' : 'No function.',
      value: this.unit.cell, samples: (r, key) => samplesOf(this.unit, r, key),
      sort: state.sort,
      picked: state.view === 'sandwich' ? state.fn : state.search,
      place: state.places ? this.places.of : null, why: this.places.why() });
    }

    /* A side's tree, from the function on: above it there is only a root. */
    side(tree) {
      const { levels, numTicks } = tree.flamebearer;
      const below = (list) => (numTicks && list ? list.slice(1) : list);
      return T.decode({ memlens: { kinds: tree.kinds,
        sample_levels: below(tree.sample_levels),
        unknown_levels: below(tree.unknown_levels) }, flamebearer:
        Object.assign({}, tree.flamebearer, { levels: below(levels) }) });
    }

    showSandwich(name = ns.view.get().fn) {
      const { answer, error, params } = this.around;
      const mine = name && params && params.function === name;
      const both = mine && answer && answer.function.total > 0
        ? answer : null;
      this.time.show(both && this.ctx, both && name, this.unit);
      ns.dom.say(this.fn, both ? name : !name
        ? 'Choose a function in the table to see who calls it and what it ' +
          'calls.' : !mine ? 'Loading…' : error ? error.message
          : name + ' has no samples in this range.');
      ns.dom.say(this.written, both ? ns.flamePlaces.whole(
        this.places.of(name, both.callees.kinds[1])) || this.places.why() : '');
      this.sandwich.classList.toggle('sandwich-empty', !both);
      this.sides = both ? { callers: this.side(both.callers),
        callees: this.side(both.callees) }
        : { callers: T.decode(null), callees: T.decode(null) };
      const anew = name !== this.sandwiched;
      this.sandwiched = name;
      this.callers.show(this.sides.callers, -1, anew);
      this.callees.show(this.sides.callees, -1, anew);
    }

    arrange(state) {
      const v = state.view;
      if (this.answer && this.ctx && v !== 'compare' &&
        (state.places || v === 'sandwich'))
        this.places.load(this.ctx);
      this.body.dataset.view = v;
      this.body.dataset.places = state.places;
      this.body.hidden = v === 'compare';
      this.foot.hidden = v === 'compare';
      this.facts.hidden = v === 'compare';
      this.compare.node.hidden = v !== 'compare';
      this.table.node.hidden = v === 'flame';
      this.pane.hidden = v === 'table' || v === 'sandwich';
      this.sandwich.hidden = v !== 'sandwich';
      if (this.ctx) {
        this.askRows(this.ctx, state, { wait: TYPING_MS *
          (state.search !== (this.rows.params || {}).search) });
        this.askSandwich(this.ctx, state);
      }
      this.main.flip(state.grow === 'up');
      this.showZoom(pathFrame(this.f, state.zoom));
      this.showSearch(state);
      if (v === 'sandwich')
        this.showSandwich(state.fn);
    }

    say(text) {
      this.note.hidden = !text;
      ns.dom.say(this.note, text);
      this.body.classList.toggle('flame-none', !!text);
    }

    /* ctx: {state, service, range, type, params of the request}. */
    show(answer, ctx) {
      const f = T.decode(answer), focus = this.main.focus();
      const held = focus < 0 ? -1 : pathFrame(f, pathCode(this.f, focus));
      Object.assign(this, { answer, f, unit: unitOf(answer), ctx });
      this.legend.show(this.unit.states);
      this.unit.place = (name, kind) =>
        ns.flamePlaces.whole(this.places.of(name, kind));
      ns.dom.say(this.title, 'Flame graph of ' +
        (ctx.service || 'the whole host'));
      this.say(f.ticks === 0 ? emptyText(answer, ctx.type.title) : '');
      this.main.show(f, held);
      this.showFacts();
      this.arrange(ctx.state);
    }

    /* The answer of diff.json over the ranges A and B. */
    showPair(answer, ra, rb, ctx) {
      this.ctx = ctx;
      this.pair = answer;
      ns.dom.say(this.title, 'Flame graphs compared: ' +
        (ctx.service || 'the whole host'));
      this.compare.show(answer, ra, rb, ctx);
      this.arrange(ctx.state);
    }

    failPair(text, ra, rb) {
      this.pair = null;
      this.compare.fail(text, ra, rb);
      this.arrange(ns.view.get());
    }

    fail(text) {
      this.rows.clear();
      this.around.clear();
      this.ctx = null;
      Object.assign(this, { answer: null, f: T.decode(null) });
      this.say(text);
      this.main.show(this.f, -1);
      this.showFacts();
      this.arrange(ns.view.get());
    }
  }

  ns.flameView = { create: () => new FlameView() };
})(globalThis.MemLens = globalThis.MemLens || {});
