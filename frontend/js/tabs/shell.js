/*
 * The playground's language: words with quotes and escapes, and the few
 * commands.  Pure.  As in a POSIX shell: 'literal', "with \" and \\", and
 * outside quotes a backslash makes the next character ordinary; \n and \t
 * inside double quotes stand for the characters they name.
 */
(function (ns) {
  'use strict';

  const ESCAPES = { n: '\n', t: '\t' };

  /* {words} or {error}; '' in quotes is a word of no characters. */
  function words(line) {
    const out = [];
    let word = null, quote = '', i = 0;
    const add = (s) => { word = (word === null ? '' : word) + s; };
    for (; i < line.length; i++) {
      const c = line[i];
      if (c === '\\' && quote !== "'") {
        if (++i >= line.length)
          return { error: 'the line ends after a backslash' };
        add(quote === '"' && ESCAPES[line[i]] || line[i]);
      } else if (quote) {
        if (c === quote)
          quote = '';
        else
          add(c);
      } else if (c === '"' || c === "'") {
        quote = c;
        add('');
      } else if (/\s/.test(c)) {
        if (word !== null)
          out.push(word);
        word = null;
      } else {
        add(c);
      }
    }
    if (quote)
      return { error: 'a ' + quote + ' is not closed' };
    if (word !== null)
      out.push(word);
    return { words: out };
  }

  /* --key K --value V in any order, also --key=K. */
  function flags(list) {
    const found = {};
    for (let i = 0; i < list.length; i++) {
      const m = /^--(key|value)(?:=([\s\S]*))?$/.exec(list[i]);
      if (!m)
        return { error: 'unexpected "' + list[i] + '"' };
      if (m[2] === undefined && i + 1 >= list.length)
        return { error: '--' + m[1] + ' needs a value' };
      found[m[1]] = m[2] !== undefined ? m[2] : list[++i];
    }
    return { found };
  }

  function resdb(list) {
    const verb = list[0];
    if (verb !== 'set' && verb !== 'get')
      return { error: 'resdb knows set and get' };
    const { found, error } = flags(list.slice(1));
    if (error)
      return { error };
    if (found.key === undefined)
      return { error: 'resdb ' + verb + ' needs --key K' };
    if (verb === 'set' && found.value === undefined)
      return { error: 'resdb set needs --value V' };
    if (verb === 'get' && found.value !== undefined)
      return { error: 'resdb get takes no --value' };
    return { verb, key: found.key, value: found.value };
  }

  const setter = (word, back) => (list) => (list.length === 2
    ? { verb: 'set', key: list[0], value: list[1], ...back && { back } }
    : { error: word + ' needs a key and a value; put quotes around spaces' });

  function get(list) {
    return list.length === 1
      ? { verb: 'get', key: list[0] }
      : { error: 'get needs one key; put quotes around spaces' };
  }

  /* latency [SAMPLES [RATE]] */
  function latency(list) {
    const [samples, rate] = list.map(Number);
    return list.length > 2 || list.some((x) => !(Number(x) > 0))
      ? { error: 'latency takes a number of writes, and so many a second' }
      : { verb: 'latency', samples: samples || 200, rate: rate || 0 };
  }

  const COMMANDS = {
    latency,
    set: setter('set', false), store: setter('store', true), get, resdb,
    help: () => ({ verb: 'help' }),
    clear: () => ({ verb: 'clear' }),
    history: () => ({ verb: 'history' })
  };

  /* {verb, key?, value?, back?: it is read back}, {verb: 'empty'} or
   * {error}. */
  function parse(line) {
    const { words: list, error } = words(line);
    if (error)
      return { error };
    if (list.length === 0)
      return { verb: 'empty' };
    const command = Object.hasOwn(COMMANDS, list[0]) && COMMANDS[list[0]];
    if (!command)
      return { error: 'unknown command "' + list[0] + '"; try help' };
    const parsed = command(list.slice(1));
    return parsed.key === ''
      ? { error: 'the key must not be empty' } : parsed;
  }

  /* A word so that words() gives it back. */
  function quoted(text) {
    if (/^[^\s"'\\]+$/.test(text))
      return text;
    return '"' + text.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')
      .replace(/\t/g, '\\t') + '"';
  }

  ns.shell = { words, parse, quoted, COMMANDS: Object.keys(COMMANDS) };
})(globalThis.MemLens = globalThis.MemLens || {});
