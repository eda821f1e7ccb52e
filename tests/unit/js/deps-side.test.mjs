/* What a node of the dependency graph asks the flame graph for. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

const { focusOf } = load('graph-walk', 'graph-cost', 'deps-side').depsSide;

/* Nine of 43 nodes of a C++ program asked for more than the 1,024 bytes that
 * an expression may have. */
test('an expression of a node fits what is taken', () => {
  for (const name of ['kv::(anonymous namespace)::join(std::string)', 'é'.repeat(40), 'f'])
    for (const n of [1, 5, 40, 2000]) {
      const names = Array.from({ length: n }, (_, i) => name + i);
      const focus = focusOf(names);
      assert.ok(Buffer.byteLength(focus.text) <= 1024, focus.text.length);
      assert.ok(focus.n === n || focus.n >= 10 && focus.n < n, focus.n);
      const only = new RegExp(focus.text);
      names.forEach((x, i) => assert.equal(only.test(x), i < focus.n));
    }
});
