/*
 * Where functions were written: file and line, as table.json gives them with
 * places=1.  Asked for only while something shows them; what is known stays
 * until the next answer, for places do not move with the range.
 */
(function (ns) {
  'use strict';

  /* The table shows fewer; a search may bring others up. */
  const LIMIT = 2000;

  function key(name, kind) {
    return name + '\0' + kind;
  }

  /* {key: ["file:line"…]}, each place once although builds differ; pure. */
  function known(answer) {
    const out = new Map();
    for (const r of answer.rows || []) {
      const list = (r.places || []).map((p) => ({ file: p.file,
        line: p.line, module: p.module }));
      const once = new Map(list.map((p) => [p.file + ':' + p.line, p]));
      if (once.size)
        out.set(key(r.name, r.kind), [...once.values()]);
    }
    return out;
  }

  function at(p) {
    return p.file + ':' + p.line;
  }

  /* As a column has room for: the file without its folders. */
  function brief(list) {
    return list && list.length ? at(list[0]).replace(/^.*\//, '') +
      (list.length > 1 ? ' +' + (list.length - 1) : '') : '';
  }

  /* All of it, for a line of its own. */
  function whole(list) {
    return (list || []).map((p) => at(p) + (p.module ? ' in ' + p.module
      : '')).join(', ');
  }

  /* onKnown() is called when there is something new to show. */
  function create(onKnown) {
    let places = new Map(), asked = '', running = null, state = '';

    async function load(ctx) {
      const params = Object.assign({}, ctx.params, { places: 1,
        limit: LIMIT, 'max-nodes': undefined, reverse: undefined });
      const path = ns.request.path('table.json', params);
      if (path === asked)
        return;
      asked = path;
      if (running)
        running.abort();
      running = new AbortController();
      try {
        places = known(await ns.api.get('table.json', params,
          { signal: running.signal }));
        state = places.size ? '' : 'none';
      } catch (e) {
        if (e.name === 'AbortError')
          return;
        state = e.message;
      }
      onKnown();
    }

    /* Why no place is known, or '' where some are or none was asked for. */
    function why() {
      return state === 'none' ? 'Where these functions were written is not ' +
        'known: that needs debug information, and inline = yes in ' +
        'memlens.conf.' : state && 'No source places: ' + state + '.';
    }

    return { load, why, of: (name, kind) => places.get(key(name, kind)) };
  }

  ns.flamePlaces = { create, known, brief, whole };
})(globalThis.MemLens = globalThis.MemLens || {});
