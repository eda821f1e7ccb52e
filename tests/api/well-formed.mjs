/*
 * Is a file well-formed XML?  node well-formed.mjs FILE.  Enough of XML 1.0
 * for SVG: prolog, comments, CDATA, elements, attributes, references.
 */
import { readFileSync } from 'node:fs';

const TOKEN = new RegExp([
  '<\\?[^]*?\\?>', '<!--(?:(?!--)[^])*-->', '<!\\[CDATA\\[[^]*?\\]\\]>',
  '<!DOCTYPE[^>]*>', '</([\\w:.-]+)\\s*>',
  '<([\\w:.-]+)((?:\\s+[\\w:.-]+\\s*=\\s*"(?:[^<&"]|&[#\\w]+;)*")*)\\s*(/?)>',
  '(?:[^<&]|&(?:amp|lt|gt|quot|apos|#\\d+|#x[0-9a-fA-F]+|nbsp);)+'
].join('|'), 'y');

const text = new TextDecoder('utf-8', { fatal: true })
  .decode(readFileSync(process.argv[2]));
const open = [];
let at = 0, roots = 0;

function fail(why) {
  console.log(`# ${why} at ${at}: ${JSON.stringify(text.slice(at, at + 60))}`);
  process.exit(1);
}

if (/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(text))
  fail('a forbidden character');
while (at < text.length) {
  TOKEN.lastIndex = at;
  const m = TOKEN.exec(text);
  if (!m)
    fail('not XML');
  if (m[1] && open.pop() !== m[1])
    fail('a wrong end tag');
  if (m[2]) {
    const names = [...m[3].matchAll(/([\w:.-]+)\s*=/g)].map((x) => x[1]);
    if (new Set(names).size !== names.length)
      fail('an attribute twice');
    roots += open.length === 0;
    if (!m[4])
      open.push(m[2]);
  }
  at += m[0].length;
}
if (open.length || roots !== 1)
  fail('unfinished');
