/* A flamebearer's functions: "name self total" each, added up by who knows
 * nothing else of it.  What a function calls itself for counts once. */
import { readFileSync } from 'node:fs';

const d = JSON.parse(readFileSync(0, 'utf8'));
const { names, levels } = d.flamebearer || d.flamegraph;
const rows = levels.map((l) => {
  const v = (Array.isArray(l) ? l : l.values).map(Number), out = [];
  let x = 0;
  for (let i = 0; i < v.length; i += 4) {
    x += v[i];
    out.push({ x, total: v[i + 1], self: v[i + 2], name: names[v[i + 3]] });
    x += v[i + 1];
  }
  return out;
});
const self = new Map(), total = new Map();

function walk(level, node, above) {
  if (level > 0) {
    self.set(node.name, (self.get(node.name) || 0) + node.self);
    if (!above.includes(node.name))
      total.set(node.name, (total.get(node.name) || 0) + node.total);
  }
  for (const child of rows[level + 1] || [])
    if (child.x >= node.x && child.x < node.x + node.total)
      walk(level + 1, child, above.concat([node.name]));
}
if (rows.length > 0)
  walk(0, rows[0][0], []);
for (const [name, v] of total)
  console.log(name, self.get(name), v);
