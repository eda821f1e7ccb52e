/*
 * Live, lost or offline.  Polls health, every 5 s (10 s in the background):
 *
 *   live     it answered
 *   lost     it does not answer, twice in a row, one second apart: the page
 *            keeps what it had, as of that moment, and asks on
 *   offline  the bundled demo: where it was chosen, and by itself only where
 *            there is no API to wait for (a file, a server without one)
 *
 * One answer means live again.  Before the first one a refusal counts at
 * once, silence only the second time: a busy host is not a dead one.
 */
(function (ns) {
  'use strict';

  const POLL_MS = 5000, HIDDEN_MS = 10000, RETRY_MS = 1000, TIMEOUT_MS = 6000,
    SPARE_MS = 2500;
  const listeners = [];
  const mode = { current: 'starting', forced: false, reachable: null,
    health: null, why: '', snapshot: null, wasLive: false,
    api: true, since: 0 };
  let failures = 0, skew = 0, timer = 0, asking = null, stored = 0;

  function clock() {
    return Date.now() / 1000 + skew;
  }

  /* The present: the server's clock, that of the last contact while it is
   * lost, or the end of the recording. */
  function now() {
    if (mode.current === 'offline' && mode.snapshot)
      return mode.snapshot.until;
    return mode.current === 'lost' ? mode.since : clock();
  }

  /* How long a slot is: of the recording, or as health last said. */
  function slot() {
    return mode.current === 'offline' && mode.snapshot
      ? mode.snapshot.profiles.slot : stored || ns.time.SLOT_S;
  }

  function emit() {
    for (const fn of listeners)
      fn(mode);
  }

  /* What the facts mean; pure. */
  function judge({ forced, reachable, api }) {
    if (forced)
      return 'offline';
    if (reachable === null)
      return 'starting';
    return reachable ? 'live' : api ? 'lost' : 'offline';
  }

  async function settle() {
    const next = judge(mode);
    if (next === 'offline' && !mode.snapshot)
      mode.snapshot = await ns.recording.load();
    mode.current = next;
    emit();
  }

  /* Another program's answer, or none: there is nobody to wait for. */
  function notOurs(res, body) {
    const e = new Error(body && typeof body.error === 'string' ? body.error
      : res.ok || res.status === 404 ? 'this server has no MemLens API'
        : 'the API answers ' + res.status);
    e.api = !(res.ok || res.status === 404 || res.status === 405);
    return e;
  }

  async function ask() {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const res = await fetch(ns.request.path('health'),
      { signal, cache: 'no-store' });
    const body = await res.json().catch(() => null);
    if (!body || typeof body.status !== 'string')
      throw notOurs(res, body);
    /* A Date header has whole seconds; small differences are noise. */
    const date = ns.time.parse(body.now, NaN) ||
      Date.parse(res.headers.get('date')) / 1000;
    if (Number.isFinite(date))
      skew = Math.abs(date - Date.now() / 1000) > 2
        ? date - Date.now() / 1000 : 0;
    return body;
  }

  function failed(e) {
    if (failures++ === 0)
      mode.since = clock();
    mode.why = e.name === 'TimeoutError' ? 'the API did not answer in time'
      : e.name === 'TypeError' ? 'the API cannot be reached' : e.message;
    if (failures < 2 && (mode.reachable || e.name === 'TimeoutError'))
      return RETRY_MS;
    /* What answered once is waited for, whatever stands in for it now. */
    mode.api = mode.api && (e.api !== false || mode.reachable !== null);
    mode.reachable = false;
    mode.health = null;
    return undefined;
  }

  async function inquire() {
    clearTimeout(timer);
    let wait;
    try {
      mode.health = ns.health.judge(await ask(), clock());
      stored = Number(mode.health.store.slot) || stored;
      mode.reachable = mode.wasLive = mode.api = true;
      failures = 0;
    } catch (e) {
      wait = failed(e);
    }
    await settle();
    timer = setTimeout(poll,
      wait || (document.hidden ? HIDDEN_MS : POLL_MS));
  }

  /* One inquiry at a time; who asks meanwhile waits for the same. */
  function poll() {
    asking = asking || inquire().finally(() => { asking = null; });
    return asking;
  }

  /* A question found nobody: is the connection lost?  Resolves when that is
   * known, after the second failure or the first answer. */
  async function doubt() {
    while (mode.reachable) {
      await poll();
      if (failures === 0)
        return;
      await new Promise((done) => setTimeout(done, RETRY_MS));
    }
  }

  /* The recording has to be here before the server is gone; it waits until
   * the page has what it needs first. */
  function fetchSpare() {
    setTimeout(async () => {
      mode.snapshot = mode.snapshot || await ns.recording.load();
    }, SPARE_MS);
  }

  function force(offline) {
    mode.forced = offline;
    return settle();
  }

  /* From a file there is nobody to ask. */
  function start(forced) {
    mode.forced = forced;
    if (location.protocol === 'file:') {
      mode.reachable = mode.api = false;
      mode.why = 'this page was opened from a file';
      return settle();
    }
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden)
        poll();
    });
    fetchSpare();
    return poll();
  }

  ns.mode = Object.assign(mode, { start, force, now, slot, clock, poll, doubt, judge,
    on: (fn) => listeners.push(fn), canBeLive:
      () => location.protocol !== 'file:' });
})(globalThis.MemLens = globalThis.MemLens || {});
