/* What the page itself writes into files. */
import test from 'node:test';
import assert from 'node:assert/strict';
import { load } from '../../../frontend/tools/load.mjs';

globalThis.MemLens = { dom: { h() {} } };
const M = load('format', 'flame-tree', 'flame-export');

test('no cell of a table is a formula', () => {
  const names = ['total', '=HYPERLINK("x")', '+1', '-1', '@f', 'a=b'];
  const f = M.flameTree.decode({ flamebearer: { names, levels: [[0, 15, 0, 0],
    [0, 1, 1, 1, 0, 2, 2, 2, 0, 3, 3, 3, 0, 4, 4, 4, 0, 5, 5, 5]],
  numTicks: 15, maxSelf: 5 } });
  const lines = M.flameExport.csv(f).trim().split('\n');
  assert.deepEqual(lines.slice(1).map((l) => l.split(',')[0]),
    ['"a=b"', '"\'@f"', '"\'-1"', '"\'+1"', '"\'=HYPERLINK(""x"")"']);
});
