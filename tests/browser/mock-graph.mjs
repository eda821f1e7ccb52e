/*
 * A made-up dependency graph in the shape of the API, drawn row by row in the
 * element structure of Graphviz.
 */

const T = '//service/kv:kv_service';
const EDGES = `
${T} > //service/utils:server_factory //executor/kv:kv_executor
  //chain/storage:leveldb //chain/storage:memory_db //common:comm
  //platform/config:resdb_config_utils //platform/statistic:stats
//service/utils:server_factory > //platform/consensus/ordering/pbft:consensus_manager_pbft
  //platform/networkstrate:service_network //platform/config:resdb_config
//executor/kv:kv_executor > //chain/storage:storage //executor/common:transaction_manager
  //proto/kv:kv_cc_proto //platform/config:resdb_config_utils
//chain/storage:leveldb > //chain/storage:storage //third_party:leveldb
  //proto/kv:leveldb_config_cc_proto //common/lru:lru_cache
//chain/storage:memory_db > //chain/storage:storage //common:comm
//platform/statistic:stats > //common:comm //third_party:prometheus //common/utils
//platform/config:resdb_config_utils > //platform/config:resdb_config //common/crypto:key_generator
//platform/consensus/ordering/pbft:consensus_manager_pbft > //platform/consensus/ordering/pbft:commitment
  //platform/consensus/ordering/pbft:message_manager //platform/consensus/ordering/pbft:viewchange_manager
  //platform/consensus/recovery //common/crypto:signature_verifier
//platform/networkstrate:service_network > //platform/networkstrate:async_acceptor
  //platform/networkstrate:replica_communicator //common/queue:lock_free_queue //platform/statistic:stats
//platform/config:resdb_config > //proto/config:replica_info_cc_proto //common:comm
//executor/common:transaction_manager > //proto/config:replica_info_cc_proto //common:comm
//common/lru:lru_cache > //common:comm
//third_party:leveldb > @com_google_leveldb//:leveldb
//third_party:prometheus > @com_github_jupp0r_prometheus_cpp//pull
//common:comm > //third_party:glog //third_party:boost
//common/crypto:key_generator > //third_party:cryptopp
//common/crypto:signature_verifier > //third_party:cryptopp //common/crypto:key_generator
//platform/consensus/ordering/pbft:commitment > //platform/consensus/ordering/pbft:message_manager //common/utils
//platform/consensus/ordering/pbft:message_manager > //executor/common:transaction_manager //chain/state:chain_state
//platform/consensus/recovery > //chain/state:chain_state //common/utils
//platform/networkstrate:replica_communicator > //proto/kv:kv_cc_proto //common/queue:lock_free_queue
@com_google_leveldb//:leveldb > @com_google_snappy//:snappy @com_google_crc32c//:crc32c
//third_party:cryptopp > @cryptopp//:cryptopp`;

const table = new Map(EDGES.trim().replace(/\n +/g, ' ').split('\n')
  .map((line) => line.split(' > '))
  .map(([a, b]) => [a, b.trim().split(/\s+/)]));

export const TARGETS = [T, '//service/tools/kv:kv_service_tools'];

/* The deeper and the longer its name, the more it costs; the rest is of no
 * node, or deeper. */
function cost(nodes, edges, q) {
  const total = 1e12;
  let left = 9e11;
  for (const n of nodes) {
    n.self = Math.min(left, n.id.length * 1e9);
    left -= n.self;
  }
  const self = new Map(nodes.map((n) => [n.id, n.self]));
  const below = (id, seen = new Set()) => {
    if (seen.has(id))
      return 0;
    seen.add(id);
    return edges.filter((e) => e.from === id).reduce((sum, e) => sum +
      below(e.to, seen), self.get(id));
  };
  for (const n of nodes)
    n.total = below(n.id);
  for (const e of edges)
    e.calls = self.get(e.to);
  const about = { query: q.get('query'), total, unit: 'nanoseconds',
    state: 'data', slots: 6, samples: 1e5, unknown: 1e11, beyond: left };
  return Object.assign({ profile: about }, q.get('from-b') &&
    pair(nodes, edges, about), asked(nodes, q));
}

/* What is asked for of one node or function. */
function asked(nodes, q) {
  const rows = [{ name: 'Put(char const*)', self: 2e9, total: 3e9 },
    { name: 'main', self: 1e9, total: 1e9 },
    { name: 'kv::join(int)', self: 0, total: 2e9 },
    { name: 'kv::join(char) const', self: 1e9, total: 1e9 }];
  const [node, name] = [q.get('node'), q.get('function')];
  const b = (key, v) => (q.get('from-b') ? { [key + '_b']: v } : {});
  const called = (bare) => rows.filter((r) => r.name === name ||
    bare && r.name.split('(')[0] === name);
  const homes = (called(false).length ? called(false) : called(true))
    .map((r, k) => ({ id: nodes[1 + k].id, ...r }));
  const told = rows.slice(0, 2);
  return Object.assign({}, node && { node: { id: node, functions: 2,
    rows: told, ...b('functions', 2), ...b('rows', told) } },
  name && { function: { name, nodes: homes, ...b('nodes', homes) } });
}

/* B has twice of all, but for the last node, which is gone. */
function pair(nodes, edges, about) {
  const last = nodes.length - 1;
  nodes.forEach((n, k) => {
    n.self_b = k === last ? 0 : 2 * n.self;
    n.total_b = k === last ? 0 : 2 * n.total;
  });
  for (const e of edges)
    e.calls_b = 2 * e.calls;
  const gone = 2 * nodes[last].self;
  return { profile_b: Object.assign({}, about, { total: 2 * about.total,
    unknown: 2 * about.unknown + gone, beyond: 2 * about.beyond }) };
}

export function graph(depth, target = T, q = new URLSearchParams()) {
  const nodes = new Set([target]), edges = [];
  let row = [target];
  for (let d = 0; d < depth; d++) {
    const next = [];
    for (const a of row)
      for (const b of table.get(a) || []) {
        edges.push([a, b]);
        if (!nodes.has(b))
          next.push(b);
        nodes.add(b);
      }
    row = next;
  }
  return { source: 'a graph of bazel in /srv/kv_service.graph',
    time: 1795305600, complete: null, command: `memlens graph --depth ` +
    `${depth} --root ${target} /srv/kv_service.graph`, target, targets: TARGETS,
  depth: depth > 4 ? 'all' : depth, collapsed: q.get('collapse') === '1',
  ...made(nodes, edges, q) };
}

function made(names, pairs, q) {
  const nodes = [...names].map((id) => ({ id, label: id, kind: 'target',
    bytes: null }));
  const edges = pairs.map(([from, to]) => ({ from, to, kind: 'needs' }));
  return Object.assign({ nodes, edges }, q.get('query') &&
    cost(nodes, edges, q), { room: !!q.get('plain') });
}

export function dot(g) {
  return 'digraph deps {\n  node [shape=box];\n' +
    g.nodes.map((n) => `  "${n.id}";\n`).join('') +
    g.edges.map((e) => `  "${e.from}" -> "${e.to}";\n`).join('') + '}\n';
}

const CHAR = 6.6, H = 30, GAP_X = 16, GAP_Y = 60;

/* Rows by the longest way from the target, boxes side by side. */
function places(g) {
  const row = new Map([[g.target, 0]]);
  for (let round = 0; round < 6; round++)
    for (const { from, to } of g.edges)
      row.set(to, Math.max(row.get(to) || 0, (row.get(from) || 0) + 1));
  const ends = [], at = new Map();
  for (const { id } of g.nodes) {
    const r = row.get(id), w = id.length * CHAR + 20;
    const x = ends[r] || 0;
    ends[r] = x + w + GAP_X;
    at.set(id, { x, w, y: r * (H + GAP_Y), r });
  }
  const width = Math.max(...ends.filter(Boolean));
  for (const p of at.values())
    p.x += (width - ends[p.r]) / 2;
  return { at, width, height: ends.length * (H + GAP_Y) };
}

/* As graphviz writes it: groups with a title, text and a shape. */
export function svg(g) {
  const { at, width, height } = places(g);
  const node = ({ id }, k) => {
    const { x, y, w } = at.get(id);
    return `<g id="node${k + 1}" class="node"><title>${id}</title>\n` +
      `<polygon fill="none" stroke="black" points="${x + w},${y} ${x},${y} ` +
      `${x},${y + H} ${x + w},${y + H} ${x + w},${y}"/>\n` +
      `<text text-anchor="middle" x="${x + w / 2}" y="${y + H / 2 + 4}" ` +
      `font-family="Helvetica,sans-Serif" font-size="12.00">${id}</text>` +
      (g.room ? `\n<text text-anchor="middle" x="${x + w / 2}" y="${y + H}" ` +
      'font-size="9.00">… % (self … %)</text>' : '') + '</g>';
  };
  const edge = ({ from, to }, k) => {
    const a = at.get(from), b = at.get(to);
    const x0 = a.x + a.w / 2, y0 = a.y + H, x1 = b.x + b.w / 2, y1 = b.y - 7;
    const m = (y0 + y1) / 2;
    return `<g id="edge${k + 1}" class="edge">` +
      `<title>${from}&#45;&gt;${to}</title>\n<path fill="none" ` +
      `stroke="black" d="M${x0},${y0}C${x0},${m} ${x1},${m} ${x1},${y1}"/>\n` +
      `<polygon fill="black" stroke="black" points="${x1 - 3.5},${y1} ` +
      `${x1 + 3.5},${y1} ${x1},${y1 + 7}"/></g>`;
  };
  return '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n' +
    `<svg width="${width}pt" height="${height}pt" ` +
    `viewBox="-8 -8 ${width + 16} ${height + 16}" ` +
    'xmlns="http://www.w3.org/2000/svg">\n' +
    '<g id="graph0" class="graph"><title>deps</title>\n' +
    g.edges.map(edge).join('\n') + g.nodes.map(node).join('\n') +
    '</g>\n</svg>\n';
}
