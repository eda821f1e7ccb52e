// Pushes the folded files of a folder to /ingest, one a slot in real time,
// and prints what the answers accepted:
//
//	ingest_push.mjs SERVER FOLDER SLOT_MS NAME
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";

const [server, dir, slotText, name] = process.argv.slice(2);
const slot = Number(slotText);
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
const files = readdirSync(dir).sort();

function push(body, from) {
	return new Promise((resolve, reject) => {
		const rq = http.request(`${server}/ingest?name=${name}&from=${from}` +
		    `&until=${from + slot}&sampleRate=100`, { method: "POST",
			agent, headers: { "Content-Length": body.length } }, (rs) => {
			let text = "";
			rs.on("data", (d) => { text += d; });
			rs.on("end", () => resolve([rs.statusCode, text]));
		});
		rq.on("error", reject);
		rq.end(body);
	});
}

let accepted = 0, refused = 0, bytes = 0;
const begin = Math.ceil(Date.now() / slot) * slot;
const times = [];
for (let i = 0; i < files.length; i++) {
	const from = begin + i * slot, body = readFileSync(`${dir}/${files[i]}`);
	const wait = from + slot - Date.now();

	if (wait > 0)
		await new Promise((done) => setTimeout(done, wait));
	const t = performance.now();
	const [status, text] = await push(body, from);
	times.push(performance.now() - t);
	bytes += body.length;
	if (status === 200)
		accepted += JSON.parse(text).types[0].accepted;
	else
		refused++;
}
times.sort((a, b) => a - b);
console.log(JSON.stringify({ profiles: files.length, accepted, refused,
	bytes, begin: begin / 1000, until: (begin + files.length * slot) / 1000,
	p50: times[times.length >> 1], p99: times[Math.floor(times.length * .99)] }));
