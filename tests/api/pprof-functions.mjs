/* A pprof's functions by its first value: "name self total" each.  Reads the
 * wire by hand. */
import { readFileSync } from 'node:fs';

const bytes = readFileSync(0);

function* fields(from, until) {
  let i = from;
  const varint = () => {
    let v = 0n, s = 0n;
    for (;;) {
      const b = BigInt(bytes[i++]);
      v |= (b & 127n) << s;
      if (b < 128n)
        return v;
      s += 7n;
    }
  };
  while (i < until) {
    const key = varint(), type = key & 7n;
    if (type === 2n) {
      const n = Number(varint());
      yield [Number(key >> 3n), i, i + n];
      i += n;
    } else {
      yield [Number(key >> 3n), varint()];
    }
  }
}
/* Numbers of a field, packed or not. */
function numbers([, a, b]) {
  const out = [];
  let v = 0n, s = 0n;
  if (b === undefined)
    return [a];
  for (let i = a; i < b; i++) {
    v |= (BigInt(bytes[i]) & 127n) << s;
    s += 7n;
    if (bytes[i] < 128) {
      out.push(v);
      v = s = 0n;
    }
  }
  return out;
}
const strings = [], functions = new Map(), locations = new Map();
const samples = [];
let types = 0;
for (const f of fields(0, bytes.length)) {
  const inner = f.length === 3 ? [...fields(f[1], f[2])] : [];
  const one = (k) => (inner.find((x) => x[0] === k) || [0, 0n])[1];
  if (f[0] === 1)
    types++;
  else if (f[0] === 2)
    samples.push([1, 2].map((k) => inner.filter((x) => x[0] === k)
      .flatMap(numbers)));
  else if (f[0] === 4)
    locations.set(one(1), inner.filter((x) => x[0] === 4).map((x) =>
      [...fields(x[1], x[2])].find((y) => y[0] === 1)[1]));
  else if (f[0] === 5)
    functions.set(one(1), one(2));
  else if (f[0] === 6)
    strings.push(bytes.toString('utf8', f[1], f[2]));
}
const self = new Map(), total = new Map();
for (const [where, values] of samples) {
  const v = values[types > 1 ? types - 1 : 0];
  const names = where.flatMap((id) => locations.get(id)).map((id) =>
    strings[Number(functions.get(id))]);
  self.set(names[0], (self.get(names[0]) || 0n) + v);
  for (const name of new Set(names))
    total.set(name, (total.get(name) || 0n) + v);
}
for (const [name, v] of total)
  console.log(name, String(self.get(name) || 0n), String(v));
