/*
 * Loads the frontend's pure modules, which are classic scripts, the way a
 * page does: in order, into one global namespace.
 */
import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const dir = new URL('../../../frontend/js/', import.meta.url);

export function load(...names) {
  for (const name of names) {
    const file = new URL(name + '.js', dir);
    runInThisContext(readFileSync(file, 'utf8'), { filename: file.pathname });
  }
  return globalThis.MemLens;
}
