/*
 * The card of a profile as a part of a tab: which type, which question, and
 * the difference to a base.  Tabs differ by the types that they offer.
 */
(function (ns) {
  'use strict';

  /* offers(types): those of a list that the tab shows, in its order. */
  function create(offers = (types) => types) {
    const flame = ns.flameView.create();

    /* Of the type that is chosen, of those that there are. */
    async function refresh(ctx) {
      const { a, b } = ns.abBar.pair(ctx.state, ctx.range);
      const compared = ctx.state.view === 'compare';
      try {
        const found = await ns.types.choose(ctx.services, ctx.service,
          ctx.state.type, ctx.signal, offers);
        flame.offer(found);
        if (!found.one)
          throw new Error('No data: no profile was recorded in this range.');
        const of = Object.assign({ type: found.one }, ctx);
        flame.showIdle(null);
        await (compared ? pair(of, a, b) : single(of));
      } catch (e) {
        if (e.name === 'AbortError')
          throw e;
        if (compared)
          flame.failPair(e.message, a, b);
        else
          flame.fail(e.message);
      }
    }

    async function single(ctx) {
      const all = Object.assign({ query: ns.types.selector(ctx.type,
        ctx.service, reason(ctx)), from: ctx.range.from, until: ctx.range.until,
      'max-nodes': 8192 }, ns.flameFilter.params(ctx.state));
      const params = busy(ctx, all);
      const asked = Object.assign({}, ctx, { params });
      const [answer, whole] = await Promise.all([ns.api.get(
        'flamegraph.json', params, { signal: ctx.signal }),
      idle(ctx.type) && ns.api.get('flamegraph.json', Object.assign({},
        ctx.state.idle ? busy(ctx, all, '') : all, { 'max-nodes': 1 }),
      { signal: ctx.signal }), flame.ask(asked)]);
      flame.show(answer, asked);
      if (whole)
        flame.showIdle(ns.types.idleText(answer, whole, ctx.state.idle),
          ctx.state.idle === '1');
    }

    const idle = (type) => type.idle && ns.mode.current !== 'offline';

    /* Without waits for work, unless they are to be shown. */
    function busy(ctx, params, shown = ctx.state.idle) {
      return shown || !idle(ctx.type) ? params
        : Object.assign({ idle: 'hide' }, params);
    }

    /* Of one instance, and of waits those of one reason. */
    function reason({ state }) {
      const out = {}, instance = ns.runs.instance(state);
      if (instance)
        out.instance = instance;
      if (state.reason)
        out.reason = state.reason;
      return out;
    }

    /* The selectors of A and of B, where A is another service. */
    function both(ctx) {
      const query = ns.types.selector(ctx.type, ctx.service, reason(ctx));
      const other = ns.abBar.other(ctx.state);
      if (!other)
        return { query };
      const labels = Object.assign(reason(ctx), { instance: other.instance });
      if (!other.instance)
        delete labels.instance;
      return { query: ns.types.selector(ctx.type, other.service, labels),
        'query-b': query };
    }

    /* The shown range against the base. */
    async function pair(ctx, ra, rb) {
      const params = busy(ctx, Object.assign({ from: ra.from, until: ra.until,
        'from-b': rb.from, 'until-b': rb.until,
        normalise: ns.runs.normaliseOf(ctx.state, ctx.type), 'max-nodes': 8192,
        limit: 1000 }, ns.flameFilter.params(ctx.state), both(ctx)));
      if (params.normalise === 'requests')
        params.requests = ctx.state.requests;
      const [answer] = await Promise.all([
        ns.api.get('diff.json', params, { signal: ctx.signal }),
        ns.abBar.runs(ctx.signal).catch(() => [])]);
      if (ctx.state.normalise && params.normalise !== ctx.state.normalise)
        answer.words = 'Not per request: nothing that counts requests is ' +
          'chosen in the tab Runs. ' + answer.words;
      flame.showPair(answer, ra, rb, Object.assign({}, ctx, { params }));
      if (idle(ctx.type))
        flame.showIdle(ctx.state.idle ? 'Idle waits shown'
          : 'Idle waits hidden', ctx.state.idle === '1');
    }

    return { node: flame.node, refresh, search: flame.search,
      arrange: (state) => flame.arrange(state), land: () => flame.land() };
  }

  ns.profileCard = { create };
})(globalThis.MemLens = globalThis.MemLens || {});
