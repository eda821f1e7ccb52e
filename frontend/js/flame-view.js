/*
 * The profile card: toolbar, table, flame graph, sandwich, and the facts
 * beside them (samples, what was lost, which range).  Zoom, search, view,
 * order and the sandwich's function are part of the page's state.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const T = ns.flameTree, F = ns.format;
  const { unitOf, lostText, brokenText, partialText, emptyText, pathCode,
    pathFrame } =
    ns.flameFacts;

  const INFO = ['Each bar is a function, as wide as the CPU time of the ' +
    'samples in which it was on the stack. What it called stands next to ' +
    'it; the order from left to right has no meaning in time.',
  'Click a bar to zoom, Esc goes back one caller. The table counts a ' +
    'recursive function once.'];
  const LABEL = 'Flame graph. Arrow keys walk the frames, Enter zooms, ' +
    'Escape zooms out. The table has the same numbers.';

  class FlameView {
    constructor() {
      this.answer = null;
      this.f = T.decode(null);
      this.sides = { callers: T.decode(null), callees: T.decode(null) };
      this.unit = unitOf({});
      this.zoomed = 0;
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
        onPick: (id) => this.pick(this.f.names[id]),
        onHover: (id) => this.main.mark(id) });
      this.bar = ns.flameBar.create((pop) => ns.flameExport.fill(pop, this));
      this.search = this.bar.search;
      this.compare = ns.flameCompare.create(this.tip);
      this.time = ns.flameTime.create();
      this.places = ns.flamePlaces.create(() =>
        this.arrange(ns.view.get()));
    }

    /* tree() gives the frames that a canvas shows. */
    handlers(tree, more) {
      const say = (i) => ns.flameTip.sentence(tree(), i, this.zoomed,
        this.unit);
      return Object.assign({
        onHover: (i, e) => {
          if (i < 0)
            this.tip.hide();
          else
            this.tip.show(tree(), i, this.zoomed, this.unit, e);
          this.detail.textContent = i < 0 ? '' : say(i);
        },
        onFocus: (i) => {
          this.detail.textContent = say(i);
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
      this.foot = h('footer', { class: 'flame-foot' }, this.detail,
        ns.flameBar.legend());
      this.node = h('article', { class: 'card flame-card',
        'aria-label': 'CPU profile' },
      h('header', { class: 'card-head' }, this.title,
        ns.dom.infoButton('Flame graph', INFO),
        h('span', { class: 'spacer' }), this.facts),
      this.bar.node, this.body, this.compare.node, this.foot);
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
        ['Copy the name', () => ns.dom.copy(name)],
        ['Copy the stack', () => ns.dom.copy(stack.join(';'))]];
      if (f === this.f)
        items.unshift(['Zoom to this frame', () => this.zoom(i)],
          ['Reset zoom', () => this.zoom(0)]);
      this.tip.hide();
      ns.flameTip.menu(items, at);
    }

    showFacts() {
      const m = (this.answer && this.answer.memlens) || {};
      const lost = lostText(m.lost);
      const parts = [], some = this.f.ticks > 0 || m.slots > 0;
      if (this.f.ticks > 0)
        parts.push(this.unit.text(this.f.ticks) + ' of CPU time');
      if (this.unit.samples && this.answer && some)
        parts.push(F.count(this.f.ticks) +
          (this.f.ticks === 1 ? ' sample' : ' samples'));
      const from = ns.time.parse(m.from, 0), until = ns.time.parse(m.until, 0);
      if (Number.isFinite(from) && Number.isFinite(until))
        parts.push(F.range(from, until));
      if (this.hidden)
        parts.push(F.count(this.hidden) + ' frames too narrow to draw');
      this.facts.replaceChildren(parts.join(' · '));
      if (this.answer && (some || lost.length))
        this.facts.append(h('span', {
          class: lost.length ? 'lost lost-some' : 'lost',
          text: lost.length ? 'lost: ' + lost.join(', ')
            : 'nothing lost' }));
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

    showSearch(state) {
      const f = this.f;
      const match = T.matcher(state.search);
      const found = match && match.test ? T.search(f, match) : null;
      const share = state.view === 'compare' ? this.compare.arrange(state)
        : found && f.ticks ? found.ticks / f.ticks : null;
      this.bar.show(state, !match ? '' : match.error ? 'not an expression'
        : F.percent(share) + ' matched', !!(match && match.error));
      this.main.search(found && found.ids);
      const picked = f.names.indexOf(state.view === 'sandwich'
        ? state.fn : state.search);
      this.table.show({ rows: T.functions(f).filter((r) =>
        !found || found.ids.has(r.id)), ticks: f.ticks,
      value: this.unit.cell, sort: state.sort, picked,
      place: state.places ? this.places.of : null,
      why: this.places.why() });
    }

    showSandwich(name) {
      const id = name ? this.f.names.indexOf(name) : -1;
      const both = id > 0 ? T.sandwich(this.f, id) : null;
      this.time.show(both && this.ctx, both && name, this.unit);
      this.fn.textContent = both ? name : name
        ? name + ' has no samples in this range.'
        : 'Choose a function in the table to see who calls it and what it ' +
          'calls.';
      this.written.textContent = both ? ns.flamePlaces.whole(
        this.places.of(name, this.f.kinds[id])) || this.places.why() : '';
      this.sandwich.classList.toggle('sandwich-empty', !both);
      this.sides = both ||
        { callers: T.decode(null), callees: T.decode(null) };
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
      this.main.flip(state.grow === 'up');
      this.showZoom(pathFrame(this.f, state.zoom));
      this.showSearch(state);
      if (v === 'sandwich')
        this.showSandwich(state.fn);
    }

    say(text) {
      this.note.hidden = !text;
      this.note.textContent = text;
      this.body.classList.toggle('flame-none', !!text);
    }

    /* ctx: {state, service, range, params of the request}. */
    show(answer, ctx) {
      const f = T.decode(answer), focus = this.main.focus();
      const held = focus < 0 ? -1 : pathFrame(f, pathCode(this.f, focus));
      Object.assign(this, { answer, f, unit: unitOf(answer), ctx });
      this.unit.place = (name, kind) =>
        ns.flamePlaces.whole(this.places.of(name, kind));
      this.title.textContent = 'Flame graph of ' +
        (ctx.service || 'the whole host');
      this.say(f.ticks === 0 ? emptyText(answer) : '');
      this.main.show(f, held);
      this.showFacts();
      this.arrange(ctx.state);
    }

    /* The answer of diff.json over the ranges A and B. */
    showPair(answer, ra, rb, ctx) {
      this.ctx = ctx;
      this.pair = answer;
      this.title.textContent = 'Flame graphs compared: ' +
        (ctx.service || 'the whole host');
      this.compare.show(answer, ra, rb);
      this.arrange(ctx.state);
    }

    failPair(text, ra, rb) {
      this.pair = null;
      this.compare.fail(text, ra, rb);
      this.arrange(ns.view.get());
    }

    fail(text) {
      Object.assign(this, { answer: null, f: T.decode(null) });
      this.say(text);
      this.main.show(this.f, -1);
      this.showFacts();
      this.arrange(ns.view.get());
    }
  }

  ns.flameView = { create: () => new FlameView() };
})(globalThis.MemLens = globalThis.MemLens || {});
