/*
 * Loads scripts of the pages into this program, the way a page does: in
 * order, into one global namespace.  There is no document: what they draw
 * with is empty.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const dir = new URL('../js/', import.meta.url);
/* Name to path below js/, which has a folder a room. */
export const SCRIPTS = new Map(readdirSync(dir, { recursive: true })
  .filter((path) => path.endsWith('.js'))
  .map((path) => [path.slice(path.indexOf('/') + 1, -3), path]));

export function load(...names) {
  const ns = globalThis.MemLens = globalThis.MemLens || {};
  ns.dom = ns.dom || {};
  for (const name of names) {
    const file = new URL(SCRIPTS.get(name), dir);
    runInThisContext(readFileSync(file, 'utf8'), { filename: file.pathname });
  }
  return ns;
}

/* The file of a module: profilesTab stands in profiles-tab.js. */
export function fileOf(module) {
  return module.replace(/[A-Z]/g, (c) => '-' + c.toLowerCase());
}
