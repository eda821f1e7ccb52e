/*
 * Live or Offline.  Polls health, every 5 s (10 s in the background), and
 * changes the mode by itself: two failures in a row, one second apart, mean
 * Offline, one answer means Live again.  The user may force Offline.  Before
 * the first answer a refusal counts at once, silence only the second time: a
 * busy host is not a dead one.
 */
(function (ns) {
  'use strict';

  const POLL_MS = 5000, HIDDEN_MS = 10000, RETRY_MS = 1000, TIMEOUT_MS = 6000,
    SPARE_MS = 2500;
  const listeners = [];
  const mode = { current: 'starting', forced: false, reachable: null,
    health: null, why: '', snapshot: null, wasLive: false };
  let failures = 0, skew = 0, timer = 0;

  function clock() {
    return Date.now() / 1000 + skew;
  }

  /* The present: the server's clock, or the end of the recording. */
  function now() {
    return mode.current === 'offline' && mode.snapshot
      ? mode.snapshot.until : clock();
  }

  function emit() {
    for (const fn of listeners)
      fn(mode);
  }

  async function settle() {
    const next = mode.reachable === null && !mode.forced ? 'starting'
      : mode.forced || !mode.reachable ? 'offline' : 'live';
    if (next === 'offline' && !mode.snapshot)
      mode.snapshot = await ns.recording.load();
    mode.current = next;
    emit();
  }

  async function ask() {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const res = await fetch(ns.request.path('health'),
      { signal, cache: 'no-store' });
    const body = await res.json().catch(() => null);
    if (!body || typeof body.status !== 'string')
      throw new Error(body && typeof body.error === 'string' ? body.error
        : res.ok ? 'this server has no MemLens API'
          : 'the API answers ' + res.status);
    /* A Date header has whole seconds; small differences are noise. */
    const date = ns.time.parse(body.now, NaN) ||
      Date.parse(res.headers.get('date')) / 1000;
    if (Number.isFinite(date))
      skew = Math.abs(date - Date.now() / 1000) > 2
        ? date - Date.now() / 1000 : 0;
    return body;
  }

  function failed(e) {
    failures++;
    mode.why = e.name === 'TimeoutError' ? 'the API did not answer in time'
      : e.name === 'TypeError' ? 'the API cannot be reached' : e.message;
    if (failures < 2 && (mode.reachable || e.name === 'TimeoutError'))
      return RETRY_MS;
    mode.reachable = false;
    mode.health = null;
    return undefined;
  }

  async function poll() {
    clearTimeout(timer);
    let wait;
    try {
      mode.health = ns.health.judge(await ask(), clock());
      mode.reachable = mode.wasLive = true;
      failures = 0;
    } catch (e) {
      wait = failed(e);
    }
    await settle();
    timer = setTimeout(poll,
      wait || (document.hidden ? HIDDEN_MS : POLL_MS));
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
      mode.reachable = false;
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

  ns.mode = Object.assign(mode, { start, force, now, clock, poll,
    on: (fn) => listeners.push(fn), canBeLive:
      () => location.protocol !== 'file:' });
})(globalThis.MemLens = globalThis.MemLens || {});
