/*
 * The playground: a small terminal that sets and gets keys through the API.
 * The language is MemLens.shell; this file is lines, history and answers.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const MAX_LINES = 400, MAX_HISTORY = 100;
  const HELP = [
    ['set KEY VALUE', 'hand over a value; “accepted” is all that this says'],
    ['store KEY VALUE', 'the same, and read it back until it is there'],
    ['get KEY', 'read it back, with the time that took'],
    ['resdb set --key K --value V', 'the same, in long form'],
    ['resdb get --key K', ''],
    ['latency', 'how long 200 writes take until they are accepted, and until ' +
      'they are committed'],
    ['latency N RATE', 'N writes, so many a second'],
    ['help', 'this list'],
    ['history', 'what you typed'],
    ['clear', 'empty the screen']
  ];
  const QUOTES = 'Quotes keep spaces: set "my key" \'{"a": 1}\'. ' +
    'A backslash takes the next character as it is.';

  /* What the statuses of api/v1/kv mean to somebody typing. */
  const STATUS = {
    403: 'not allowed here',
    422: 'not sent',
    404: 'no such key',
    413: 'the value is too large',
    429: 'too many requests; wait a moment',
    502: 'the database refused or broke the connection',
    503: 'the playground is not ready yet',
    504: 'the database did not answer within 2 seconds'
  };

  /* Ours first, then the server's own words where they say more. */
  function explain(e) {
    if (e.status === 404)
      return /configured|path|route/.test(e.message) ? e.message
        : STATUS[404];
    const ours = STATUS[e.status];
    return !ours || e.message.startsWith(ours) ? e.message
      : ours + ': ' + e.message;
  }

  function shown(value) {
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  /* A database may take a value, and lose it before it has agreed on it. */
  function written(key, { back }, answer, took) {
    const known = ns.format.known(answer.stored_seconds);
    if (back && known)
      return { text: 'stored ' + key + ': accepted, and read back after ' +
        ns.format.seconds(answer.stored_seconds), took };
    return back ? { text: 'accepted ' + key + ', but not found again: ' +
      (answer.read_back || 'not within 5 seconds'), took, warn: true }
      : { text: 'accepted ' + key, took };
  }

  /* Text before the time: what came back and how to read it. */
  async function run(cmd) {
    const answer = await ns.api.kv(cmd.key, cmd.value, cmd.back);
    const took = ns.format.known(answer.latency_seconds)
      ? ns.format.seconds(answer.latency_seconds) : '';
    if (cmd.verb === 'set')
      return written(ns.shell.quoted(cmd.key), cmd, answer, took);
    return answer.value === ''
      ? { text: '(the empty string)', took, dim: true }
      : { text: shown(answer.value), took };
  }

  const TEST_MS = 310000;

  /* "accepted p50 1 ms, p99 2 ms, max 3 ms of 200" */
  function quantiles(name, q) {
    const s = ns.format.seconds;
    return q.count === 0 ? name + ': none' : name + ': p50 ' + s(q.p50) +
      ', p90 ' + s(q.p90) + ', p99 ' + s(q.p99) + ', max ' + s(q.max) +
      ' of ' + ns.format.count(q.count);
  }

  class Terminal {
    constructor() {
      Object.assign(this, { past: [], at: 0, draft: '', busy: false });
      this.log = h('div', { class: 'term-log', role: 'log', tabindex: '0',
        'aria-label': 'Playground output' });
      this.input = h('input', { class: 'term-input', type: 'text',
        'aria-label': 'Playground command', autocomplete: 'off',
        autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'go',
        placeholder: 'set greeting "hello world"',
        onkeydown: (e) => this.key(e) });
      this.form = h('form', { class: 'term-form',
        onsubmit: (e) => this.submit(e) },
      h('span', { class: 'term-prompt', 'aria-hidden': 'true', text: '$' }),
      this.input);
      this.node = h('div', { class: 'terminal', onclick: () => {
        if (!String(getSelection()))
          this.input.focus({ preventScroll: true });
      } }, this.log, this.form);
      this.local = { empty: () => undefined, help: () => this.help(),
        clear: () => this.log.replaceChildren(),
        history: () => this.past.forEach((line, i) =>
          this.print('dim', String(i + 1).padStart(3) + '  ' + line)) };
      this.print('dim', 'Set and get keys of the database.');
      this.help();
    }

    print(kind, ...parts) {
      this.log.append(h('div', { class: 'term-line term-' + kind }, parts));
      while (this.log.childElementCount > MAX_LINES)
        this.log.firstElementChild.remove();
      this.log.scrollTop = this.log.scrollHeight;
    }

    help() {
      for (const [usage, text] of HELP)
        this.print('help', h('span', { class: 'term-usage', text: usage }),
          h('span', { text }));
      this.print('dim', QUOTES);
    }

    /* It writes, so it asks first. */
    async latency(cmd) {
      if (!window.confirm('Write ' + cmd.samples + ' keys that begin with ' +
        '“memlens-p99-” to the database, to measure how long that takes? ' +
        'They stay there.'))
        return this.print('dim', 'Nothing was written.');
      this.print('dim', 'Measuring; at most four minutes …');
      const { run, kept, why } = await ns.api.post('actions/latency-test',
        { confirmed: true, samples: cmd.samples, rate: cmd.rate }, TEST_MS);
      const l = run.latency;
      this.print('out', quantiles('accepted', l.accepted));
      if (l.committed)
        this.print('out', quantiles('committed', l.committed));
      if (l.unread)
        this.print('warn', ns.format.count(l.unread) + ' were accepted and ' +
          'not found within 5 seconds');
      if (l.stopped)
        this.print('warn', 'stopped after ' + l.sent + ' of ' + l.samples +
          ', ' + l.stopped);
      return this.print(kept ? 'dim' : 'warn', kept
        ? 'kept as the run “' + run.name + '”' : 'not kept as a run: ' + why);
    }

    async ask(cmd) {
      if (ns.mode.current !== 'live')
        return this.print('warn', ns.mode.current === 'lost'
          ? 'Not sent: there is no connection.'
          : 'The playground needs Live: the demo is a recording, which ' +
            'cannot be written to or asked.');
      this.setBusy(true);
      try {
        if (cmd.verb === 'latency')
          await this.latency(cmd);
        else
          this.answer(await run(cmd));
      } catch (e) {
        this.print('error', explain(e));
      }
      return this.setBusy(false);
    }

    answer({ text, took, dim, warn }) {
      this.print(dim ? 'dim' : warn ? 'warn' : 'out', text,
        took && h('span', { class: 'term-took', text: took }));
    }

    setBusy(busy) {
      this.busy = busy;
      this.form.classList.toggle('term-busy', busy);
    }

    enter(line) {
      const { past } = this;
      if (line.trim() && past[past.length - 1] !== line)
        past.push(line);
      past.splice(0, past.length - MAX_HISTORY);
      this.at = past.length;
      this.draft = '';
      this.print('echo', h('span', { class: 'term-prompt', text: '$ ' }),
        line);
      const cmd = ns.shell.parse(line);
      if (cmd.error)
        return this.print('error', cmd.error);
      return this.local[cmd.verb] ? this.local[cmd.verb]() : this.ask(cmd);
    }

    recall(step) {
      const { past, input } = this;
      if (this.at === past.length)
        this.draft = input.value;
      this.at = Math.min(past.length, Math.max(0, this.at + step));
      input.value = this.at === past.length ? this.draft : past[this.at];
      requestAnimationFrame(() =>
        input.setSelectionRange(input.value.length, input.value.length));
    }

    /* Completes the command's name; false leaves Tab to move the focus. */
    complete() {
      const typed = this.input.value;
      const rest = ns.shell.COMMANDS.filter((c) => c.startsWith(typed));
      if (!typed || rest.length !== 1)
        return false;
      this.input.value = rest[0] + ' ';
      return true;
    }

    key(e) {
      const KEYS = { ArrowUp: () => this.recall(-1),
        ArrowDown: () => this.recall(1),
        Tab: () => !e.shiftKey && this.complete(),
        l: () => e.ctrlKey && this.log.replaceChildren() };
      if ((e.key === 'l' && !e.ctrlKey) || !KEYS[e.key])
        return;
      if (KEYS[e.key]() !== false)
        e.preventDefault();
    }

    submit(e) {
      e.preventDefault();
      if (this.busy)
        return;
      const line = this.input.value;
      this.input.value = '';
      this.enter(line);
    }
  }

  ns.terminal = { create: () => new Terminal().node };
})(globalThis.MemLens = globalThis.MemLens || {});
