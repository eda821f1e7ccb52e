/*
 * The playground: a small terminal that sets and gets keys through the API.
 * The language is MemLens.shell; this file is lines, history and answers.
 */
(function (ns) {
  'use strict';

  const { h } = ns.dom;
  const MAX_LINES = 400, MAX_HISTORY = 100;
  const HELP = [
    ['set KEY VALUE', 'store a value'],
    ['get KEY', 'read it back, with the time that took'],
    ['resdb set --key K --value V', 'the same, in long form'],
    ['resdb get --key K', ''],
    ['history', 'what you typed'],
    ['clear', 'empty the screen']
  ];
  const QUOTES = 'Quotes keep spaces: set "my key" \'{"a": 1}\'. ' +
    'A backslash takes the next character as it is.';

  /* What the statuses of api/v1/kv mean to somebody typing. */
  const STATUS = {
    403: 'not allowed here',
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
    return STATUS[e.status] ? STATUS[e.status] + ': ' + e.message : e.message;
  }

  function shown(value) {
    return typeof value === 'string' ? value : JSON.stringify(value);
  }

  /* Text before the time: what came back and how to read it. */
  async function run(cmd) {
    const answer = await ns.api.kv(cmd.key, cmd.value);
    const took = ns.format.known(answer.latency_seconds)
      ? ns.format.seconds(answer.latency_seconds) : '';
    if (cmd.verb === 'set')
      return { text: 'stored ' + ns.shell.quoted(cmd.key), took };
    return answer.value === ''
      ? { text: '(the empty string)', took, dim: true }
      : { text: shown(answer.value), took };
  }

  function create() {
    const past = [];
    let at = 0, draft = '', busy = false;
    const log = h('div', { class: 'term-log', role: 'log', tabindex: '0',
      'aria-label': 'Playground output' });
    const input = h('input', { class: 'term-input', type: 'text',
      'aria-label': 'Playground command', autocomplete: 'off',
      autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'go',
      placeholder: 'set greeting "hello world"' });
    const form = h('form', { class: 'term-form' },
      h('span', { class: 'term-prompt', 'aria-hidden': 'true', text: '$' }),
      input);

    function print(kind, ...parts) {
      log.append(h('div', { class: 'term-line term-' + kind }, parts));
      while (log.childElementCount > MAX_LINES)
        log.firstElementChild.remove();
      log.scrollTop = log.scrollHeight;
    }

    function help() {
      for (const [usage, text] of HELP)
        print('help', h('span', { class: 'term-usage', text: usage }),
          h('span', { text }));
      print('dim', QUOTES);
    }

    async function ask(cmd) {
      if (ns.mode.current !== 'live')
        return print('warn', 'The playground needs Live: Offline shows a ' +
          'recording, which cannot be written to or asked.');
      busy = true;
      form.classList.add('term-busy');
      try {
        const { text, took, dim } = await run(cmd);
        print(dim ? 'dim' : 'out', text,
          took && h('span', { class: 'term-took', text: took }));
      } catch (e) {
        print('error', explain(e));
      }
      busy = false;
      form.classList.remove('term-busy');
      return undefined;
    }

    const LOCAL = {
      empty: () => undefined,
      help,
      clear: () => log.replaceChildren(),
      history: () => past.forEach((line, i) =>
        print('dim', String(i + 1).padStart(3) + '  ' + line))
    };

    function enter(line) {
      if (line.trim() && past[past.length - 1] !== line)
        past.push(line);
      past.splice(0, past.length - MAX_HISTORY);
      at = past.length;
      draft = '';
      print('echo', h('span', { class: 'term-prompt', text: '$ ' }), line);
      const cmd = ns.shell.parse(line);
      if (cmd.error)
        return print('error', cmd.error);
      return LOCAL[cmd.verb] ? LOCAL[cmd.verb]() : ask(cmd);
    }

    function recall(step) {
      if (at === past.length)
        draft = input.value;
      at = Math.min(past.length, Math.max(0, at + step));
      input.value = at === past.length ? draft : past[at];
      requestAnimationFrame(() =>
        input.setSelectionRange(input.value.length, input.value.length));
    }

    function complete() {
      const rest = ns.shell.COMMANDS.filter((c) =>
        c.startsWith(input.value));
      if (input.value && rest.length === 1)
        input.value = rest[0] + ' ';
      return rest.length === 1;
    }

    input.addEventListener('keydown', (e) => {
      if (e.key === 'ArrowUp' || e.key === 'ArrowDown') {
        e.preventDefault();
        recall(e.key === 'ArrowUp' ? -1 : 1);
      } else if (e.key === 'Tab' && !e.shiftKey && input.value &&
        !input.value.includes(' ') && complete()) {
        e.preventDefault();
      } else if (e.key === 'l' && e.ctrlKey) {
        e.preventDefault();
        log.replaceChildren();
      }
    });
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      if (busy)
        return;
      const line = input.value;
      input.value = '';
      enter(line);
    });
    print('dim', 'Set and get keys of the database.');
    help();
    return h('div', { class: 'terminal', onclick: () => {
      if (!String(getSelection()))
        input.focus({ preventScroll: true });
    } }, log, form);
  }

  ns.terminal = { create };
})(globalThis.MemLens = globalThis.MemLens || {});
