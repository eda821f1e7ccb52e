/*
 * ResilientDB's key-value service as it was measured: node crow.mjs, which
 * says its port.  Environment: PORT, one that is free otherwise; DELAY, milliseconds until a write is committed
 * and a read is answered (a consensus round); HANG, a read of a key that
 * begins with it is never answered; LOSE, a write of such a key is dropped;
 * HANG_AFTER, after so many writes no read is answered; CHANGE, a text that
 * values are kept without.
 *
 * A write is answered 201 when it was handed over, and seen by reads a round
 * later.  A key is what stands in the path: nothing is decoded, and a slash
 * begins the end of a range.  Two server threads: a read that hangs leaves
 * one, two leave none.  Bytes beyond ASCII in a path are refused by Node's
 * parser; what crow's does with them was not measured.
 */
import http from 'node:http';

const delay = Number(process.env.DELAY || 0);
const { HANG, LOSE, CHANGE } = process.env;
const hangAfter = Number(process.env.HANG_AFTER || Infinity);
const KEYS = '/v1/transactions';
const store = new Map();
let writes = 0, hanging = 0, listed = 0;

const say = (res, status, type, body = '') => {
  res.writeHead(status, { Server: 'Crow/1.0',
    'Content-Length': Buffer.byteLength(body),
    ...(type ? { 'Content-Type': type } : {}) });
  res.end(body);
};

function kept(body) {
  const { id, value } = JSON.parse(body);
  return CHANGE ? JSON.stringify({ id, value: value.replaceAll(CHANGE, '') })
    : body;
}

function commit(res, body) {
  let id;
  try {
    id = JSON.parse(body).id;
  } catch { /* as without one */ }
  if (typeof id !== 'string')
    return say(res, 400, 'text/plain', 'Invalid transaction format');
  writes++;
  if (!LOSE || !id.startsWith(LOSE))
    setTimeout(() => store.set(id, kept(body)), delay);
  return say(res, 201, 'text/plain', 'id: ' + id);
}

function read(res, key) {
  if ((HANG && key.startsWith(HANG)) || writes >= hangAfter) {
    hanging++;
    res.on('close', () => hanging--);
    return;
  }
  setTimeout(() => say(res, 200, 'application/json', store.get(key) || ''),
    delay);
}

function list(res) {
  const now = Date.now(), left = listed + 30000 - now;
  if (left > 0)
    return say(res, 503, 'text/plain', 'Get all transactions functionality ' +
      'on cooldown (' + left + ' ms left)');
  listed = now;
  return say(res, 200, 'application/json');
}

function route(req, res, body) {
  const path = req.url.split('?')[0];
  const parts = path.startsWith(KEYS + '/')
    ? path.slice(KEYS.length + 1).split('/') : [];
  if (hanging >= 2)
    return undefined; /* nobody is left to answer */
  if (req.method === 'OPTIONS')
    return say(res, 204);
  if (req.method === 'POST' && path === KEYS + '/commit')
    return commit(res, body);
  if (req.method === 'GET' && path === KEYS)
    return list(res);
  if (req.method === 'GET' && parts.length === 2)
    return say(res, 200, 'application/json', '[]');
  if (req.method !== 'GET' || parts.length !== 1 || parts[0] === '')
    return say(res, 404);
  return read(res, parts[0]);
}

const server = http.createServer((req, res) => {
  const chunks = [];
  req.on('data', (c) => chunks.push(c));
  req.on('end', () => route(req, res, Buffer.concat(chunks).toString()));
});
server.listen(Number(process.env.PORT || 0), '127.0.0.1', () => console.log(server.address().port));
