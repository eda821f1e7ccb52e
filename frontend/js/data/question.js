/*
 * One question to a route that is asked again as the view changes: the
 * newest wins, the same one is not asked twice, and what was answered stays
 * until there is something else to show.
 */
(function (ns) {
  'use strict';

  /* The first that aborts, aborts. */
  function either(a, b) {
    return b && AbortSignal.any ? AbortSignal.any([a, b]) : a;
  }

  /*
   * {answer, error, params, ask()}: error is null beside an answer; params are
   * those of what is there.  onChange() is called when either has changed.
   */
  function create(name, onChange) {
    const q = { answer: null, error: null, params: null };
    let asked = '', timer = 0, running = null, done = null, promise = null;

    async function fetchIt(params, signal) {
      const mine = running = new AbortController();
      try {
        const answer = await ns.api.get(name, params,
          { signal: either(mine.signal, signal) });
        Object.assign(q, { answer, error: null, params });
      } catch (e) {
        if (e.name === 'AbortError') {
          if (mine === running)
            asked = ''; /* whoever asks again may know more */
          return;
        }
        Object.assign(q, { answer: null, error: e, params });
      }
      onChange();
    }

    function stop() {
      clearTimeout(timer);
      if (running)
        running.abort();
      running = null;
      if (done)
        done();
    }

    /* Resolves when it is answered, failed or overtaken.  wait: while
     * somebody types, the milliseconds before it is worth asking. */
    q.ask = (params, { wait = 0, signal } = {}) => {
      const key = ns.mode.current + ns.request.path(name, params);
      if (key === asked)
        return promise;
      stop();
      asked = key;
      promise = new Promise((resolve) => {
        done = resolve;
        const go = () => fetchIt(params, signal).finally(resolve);
        if (wait)
          timer = setTimeout(go, wait);
        else
          go();
      });
      return promise;
    };

    /* Nothing is asked, nothing is there. */
    q.clear = () => {
      stop();
      asked = '';
      Object.assign(q, { answer: null, error: null, params: null });
    };
    return q;
  }

  ns.question = { create };
})(globalThis.MemLens = globalThis.MemLens || {});
