/*
 * Asks the API, or the snapshot while Offline.  Answers are JSON or text;
 * failures are ApiError with the server's own words.  Where nobody answers,
 * the mode is settled first: who keeps what it had aborts by its signal.
 */
(function (ns) {
  'use strict';

  const TIMEOUT_MS = 20000, AT_ONCE = 5;

  class ApiError extends Error {
    constructor(status, message, field) {
      super(message);
      this.name = 'ApiError';
      this.status = status;
      this.field = field || '';
    }
  }

  async function refusal(res) {
    const body = await res.json().catch(() => null);
    const text = body && body.error
      ? body.error + (body.detail ? ': ' + body.detail : '')
      : 'the server answers ' + res.status;
    return new ApiError(res.status, text, body && body.field);
  }

  function within(signal) {
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    return signal && AbortSignal.any ? AbortSignal.any([signal, limit])
      : signal || limit;
  }

  async function ask(path, options) {
    let res;
    try {
      res = await fetch(path, options);
    } catch (e) {
      if (e.name === 'AbortError')
        throw e;
      throw new ApiError(0, e.name === 'TimeoutError'
        ? 'no answer in time' : 'the API cannot be reached');
    }
    if (!res.ok)
      throw await refusal(res);
    return res;
  }

  async function request(path, options, signal) {
    try {
      return await ask(path, Object.assign({ signal: within(signal) },
        options));
    } catch (e) {
      if (e.status === 0 || e.status >= 502)
        await ns.mode.doubt();
      if (signal && signal.aborted)
        throw signal.reason;
      throw e;
    }
  }

  async function recorded(name, params) {
    const snapshot = await ns.recording.load();
    if (!snapshot)
      throw new ApiError(0, 'there is no snapshot beside this page');
    const found = ns.recording.answer(snapshot, name, params);
    if (found === undefined)
      throw new ApiError(404, 'not in the snapshot');
    return found;
  }

  /* As the server does; a snapshot has nobody who would. */
  function checkRange(params, from, until) {
    if (params && params[from] !== undefined &&
      Number(params[from]) >= Number(params[until]))
      throw new ApiError(400, 'from: is not before until', from);
  }

  /* GET api/v1/name; text for what is not JSON. */
  async function get(name, params, { signal, text } = {}) {
    checkRange(params, 'from', 'until');
    checkRange(params, 'from-b', 'until-b');
    if (ns.mode.current === 'offline')
      return recorded(name, params);
    const res = await request(ns.request.path(name, params), {}, signal);
    return text ? res.text() : res.json();
  }

  /* POST api/v1/name with JSON; the answer's JSON. */
  async function post(name, body, wait_ms = TIMEOUT_MS) {
    const res = await request(ns.request.path(name), { method: 'POST',
      signal: AbortSignal.timeout(wait_ms),
      body: JSON.stringify(body),
      headers: { 'Content-Type': 'application/json' } });
    return res.json();
  }

  /* `back`: a value that is written is read back, too. */
  async function kv(key, value, back) {
    const path = ns.request.kvPath(key);
    if (path === null)
      throw new ApiError(0, 'a browser cannot send the key "' + key + '"');
    const put = value !== undefined;
    const res = await request(path + (put && back ? '?read-back=1' : ''), {
      method: put ? 'PUT' : 'GET',
      body: put ? value : undefined,
      headers: put ? { 'Content-Type': 'text/plain; charset=utf-8' } : {} });
    return res.json();
  }

  /*
   * Many series at once, few in flight: table rows are {key, query, fn, step}.
   * Returns {key: {cols, state, error, step}}, the step being the answer's;
   * one failure spoils one row only.  Series know whole slots: all that the
   * range touches are asked for.
   */
  async function series(table, range, step, signal) {
    const out = {};
    const { from, until } = range.from < range.until
      ? ns.time.outward(range, range.slot) : range;
    const queue = table.slice();
    const worker = async () => {
      for (let row = queue.shift(); row; row = queue.shift())
        try {
          const answer = await get('series', { query: row.query, fn: row.fn,
            from, until,
            step: row.step || step }, { signal });
          out[row.key] = { cols: ns.series.columns(answer),
            state: ns.series.state(answer), error: null,
            partial: answer.partial || [],
            step: answer.step || row.step || step };
        } catch (e) {
          if (e.name === 'AbortError')
            throw e;
          out[row.key] = { cols: [], state: 'no data', error: e, step };
        }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return out;
  }

  ns.api = { get, post, kv, series, ApiError };
})(globalThis.MemLens = globalThis.MemLens || {});
