/*
 * Tab "Memory": what is resident, what of it is live, who holds it and who
 * holds more and more.  The profile below is the card of the tab Profiles,
 * with the types of memory.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const HOST = 'Leaks are those of a service: choose one above.';

  /* A line to copy. */
  function command(text, label) {
    return h('div', { class: 'start-line' }, h('code', { text }),
      ns.dom.copyButton(label, () => text));
  }

  /* How the heap's profile is enabled, where there is none. */
  function hint() {
    const node = h('section', { class: 'hint start-hint', hidden: true,
      'aria-label': 'Not enabled' });
    return { node, show(a) {
      node.hidden = !a;
      if (a)
        node.replaceChildren(h('p', { text: 'Heap profile: none of this service ' +
          'in this range. ' + a.found + (a.start ? ' Start it with' : '') }),
        ...(a.start ? [command(a.start, 'Copy the command')] : []),
        h('p', { text: a.note + (!a.where ? '.' : a.start ? '; and ' + a.where
          : ' ' + a.where) }),
        ...(a.pull ? [command(a.pull, 'Copy the lines')] : []));
    } };
  }

  function create(root) {
    const resident = ns.resident.create(), leaks = ns.leaks.create();
    const lifetimes = ns.lifetimes.create();
    const start = hint(), card = ns.profileCard.create(ns.types.ofMemory);
    root.append(h('h2', { class: 'visually-hidden', text: 'Memory' }),
      resident.node, start.node, leaks.node, lifetimes.node, card.node);

    const program = ({ services, service }) => (services.find((s) =>
      s.name === service) || { program: service }).program;

    /* The answer about leaks, and why there is none. */
    async function suspects(ctx) {
      if (!ctx.service)
        return [null, HOST];
      try {
        const answer = await ns.api.get('leaks', { service: ctx.service,
          instance: ns.runs.instance(ctx.state),
          requests: ctx.state.requests, from: ctx.range.from, until: ctx.range.until }, { signal: ctx.signal });
        return [answer, ''];
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        return [null, 'Leak suspects: ' + e.message];
      }
    }

    /* The answer about lifetimes, or null: a recording has none. */
    async function lives(ctx) {
      if (!ctx.service || ns.mode.current === 'offline')
        return null;
      return ns.api.get('lifetimes', { service: ctx.service,
        instance: ns.runs.instance(ctx.state), limit: 6,
        from: ctx.range.from, until: ctx.range.until },
      { signal: ctx.signal }).catch((e) => {
        if (e.name === 'AbortError')
          throw e;
        return null;
      });
    }

    async function lines(ctx) {
      const [r, [answer, why], life] = await Promise.all([ns.api.series(
        ns.resident.queries(ctx.service, ns.runs.instance(ctx.state)),
        ctx.range, ctx.step, ctx.signal),
      suspects(ctx), lives(ctx)]);
      resident.show(r, answer, ctx);
      lifetimes.show(life);
      leaks.show(answer, why);
      /* where nothing at all was recorded, nobody knows */
      const off = answer && !answer.heap && answer.by !== 'no data' &&
        ns.mode.current !== 'offline';
      start.show(off ? ns.allocators.advice(ns.allocators.names(
        r.allocator.cols), { service: ctx.service, command: program(ctx),
          origin: location.origin })
        : null);
    }

    return { refresh: (ctx) => Promise.all([lines(ctx), card.refresh(ctx)]),
      arrange: card.arrange, search: card.search };
  }

  ns.heapTab = { create };
})(globalThis.MemLens = globalThis.MemLens || {});
