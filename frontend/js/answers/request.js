/*
 * The names of requests.  Pure.  path() is what is fetched, relative to the
 * page so that everything works below a reverse proxy's sub-path; key() is
 * the same request without the parameters that move with time, under which
 * a snapshot keeps its answer.
 */
(function (ns) {
  'use strict';

  const BASE = 'api/v1/';
  const MOVING = ['from', 'until', 'step', 'max-nodes', 'width'];

  function pairs(params) {
    return Object.entries(params || {})
      .filter(([, v]) => v !== undefined && v !== null && v !== '')
      .map(([k, v]) => [k, String(v)]);
  }

  function path(name, params) {
    const query = new URLSearchParams(pairs(params)).toString();
    return BASE + name + (query ? '?' + query : '');
  }

  function key(name, params) {
    const kept = pairs(params)
      .filter(([k]) => !MOVING.includes(k))
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([k, v]) => k + '=' + v);
    return kept.length ? name + '?' + kept.join('&') : name;
  }

  /* A Prometheus selector; values are quoted as its grammar wants. */
  function selector(name, labels) {
    const inner = Object.entries(labels || {}).map(([k, v]) => {
      const [op, text] = v instanceof RegExp
        ? ['=~', v.source] : ['=', String(v)];
      return k + op + '"' + text.replace(/\\/g, '\\\\')
        .replace(/"/g, '\\"').replace(/\n/g, '\\n') + '"';
    });
    return inner.length ? name + '{' + inner.join(',') + '}' : name;
  }

  /*
   * One path segment of the key-value interface.  Returns null for the keys
   * that no browser can send: it resolves "." and ".." itself.
   */
  function kvPath(keyText) {
    if (keyText === '' || keyText === '.' || keyText === '..')
      return null;
    return BASE + 'kv/' + encodeURIComponent(keyText);
  }

  ns.request = { path, key, selector, kvPath };
})(globalThis.MemLens = globalThis.MemLens || {});
