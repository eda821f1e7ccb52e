/*
 * A key-value service with ResilientDB's interface and its bad days, for
 * the tests of the playground: node target.mjs [PORT|PATH], which says where
 * it is; over TLS with the files KEY and CERT.  Keys that begin with "bad-" behave as their name says.
 */
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';

const store = new Map();
const asked = new Map(); // by key: how often it was asked for
let packets = 0;

const moods = {
  'bad-text': (res) => res.end('get value fail'),
  'bad-500': (res) => { res.statusCode = 500; res.end('no'); },
  'bad-novalue': (res) => res.end('{"id":"x"}'),
  'bad-number': (res) => res.end('{"id":"x","value":5}'),
  'bad-hang': () => {},
  'bad-slow': (res) => { res.write('{"value":'); },
  'bad-close': (res) => res.socket.destroy(),
  'bad-chunked': (res) => { res.write('{"value":'); res.end('"in parts"}'); },
  'bad-large': (res) => res.end('"' + 'x'.repeat(5 << 20) + '"')
};

const answer = (req, res) => {
  const parts = [];
  req.on('data', (c) => parts.push(c));
  req.on('end', () => {
    if (req.method === 'POST' && req.url === '/v1/transactions/commit') {
      const body = Buffer.concat(parts).toString();
      const { id } = JSON.parse(body);
      if (id === 'bad-refuse') {
        res.statusCode = 400;
        res.end('Invalid transaction format');
        return;
      }
      store.set(id, body);
      res.statusCode = 201;
      res.end('id: ' + id);
      return;
    }
    const raw = req.url.replace('/v1/transactions/', '');
    const key = decodeURIComponent(raw);
    asked.set(key, (asked.get(key) || 0) + 1);
    if (Object.hasOwn(moods, key))
      moods[key](res);
    else if (key === 'raw')
      res.end(JSON.stringify({ value: req.url }));
    else if (key.startsWith('asked-'))
      res.end(JSON.stringify({ value: asked.get(key.slice(6)) || 0 }));
    else if (key === 'packets')
      res.end(JSON.stringify({ value: packets }));
    else
      res.end(store.get(key) || '');
  });
};
const { KEY, CERT } = process.env;
const server = KEY ? https.createServer({ key: fs.readFileSync(KEY),
  cert: fs.readFileSync(CERT) }, answer) : http.createServer(answer);
server.on('connection', (socket) => {
  socket.once('data', () => packets++);
});
const at = process.argv[2] || '0';
server.listen(at[0] === '/' ? { path: at } : { port: Number(at),
  host: '127.0.0.1' }, () => console.log(server.address().port ?? at));
