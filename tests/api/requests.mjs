// Requests as Pyroscope's agents make them, by an encoder of our own:
//
//	requests.mjs FOLDER
//
// pprof.bin, pprof.gz  a profile: main;read 30 ms (region eu), main;write
//	20 ms, period 10 ms, cpu/nanoseconds beside samples/count
// form.bin             the same in a form, as old agents send it; boundary XX
// delta.bin            a form with sample_type_config and the profile before
// push.bin, push.gz    Connect's push of it; push.json
// ns.bin, ms.bin       70 ms of cpu in either unit; kb.bin, large-s.bin
// unsaid.bin           70 ms of cpu, of a period that they are not whole ones of
// cycles.bin           70 cycles as cpu; own-*.bin: a type "own" in two units
// usec.bin, ...        7 of each unit of time, as cpu
// goraw.bin            what Go's runtime writes; goform.bin as its agent sends it
// trie.bin, tree.bin   {"a;b": 1, "a;c": 2}
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const dir = process.argv[2];
const TIME = 1700000003n; // seconds; three into a slot

const varint = (v) => {
	const out = [];
	v = BigInt.asUintN(64, BigInt(v));
	do {
		out.push(Number(v & 127n) | (v > 127n ? 128 : 0));
		v >>= 7n;
	} while (v > 0n);
	return Buffer.from(out);
};
const num = (field, v) => Buffer.concat([varint(field << 3), varint(v)]);
const bytes = (field, b) => {
	b = Buffer.from(b);
	return Buffer.concat([varint(field << 3 | 2), varint(b.length), b]);
};
const msg = (...parts) => Buffer.concat(parts);
const packed = (field, list) => bytes(field, msg(...list.map(varint)));

function profile({ types, samples, period, label = true, time = TIME }) {
	const strings = [""];
	const str = (s) => {
		let i = strings.indexOf(s);
		if (i < 0) i = strings.push(s) - 1;
		return i;
	};
	const type = (field, [t, u]) =>
		bytes(field, msg(num(1, str(t)), num(2, str(u))));
	const functions = ["main", "read", "write"];
	const parts = types.map((t) => type(1, t));
	for (const s of samples)
		parts.push(bytes(2, msg(packed(1, s.stack), packed(2, s.values),
		    s.label && label ? bytes(3, msg(num(1, str("region")),
		        num(2, str(s.label)))) : msg())));
	functions.forEach((f, i) => {
		parts.push(bytes(4, msg(num(1, i + 1), bytes(4,
		    msg(num(1, i + 1), num(2, 10 * i + 1))))));
		parts.push(bytes(5, msg(num(1, i + 1), num(2, str(f)),
		    num(4, str("app.c")))));
	});
	if (period)
		parts.push(type(11, period), num(12, period[2]));
	parts.push(num(9, time * 1000000000n), num(10, 10000000000n));
	parts.push(...strings.map((s) => bytes(6, s)));
	return msg(...parts);
}

const cpu = profile({
	types: [["samples", "count"], ["cpu", "nanoseconds"]],
	samples: [
		{ stack: [2, 1], values: [3, 30000000], label: "eu" },
		{ stack: [3, 1], values: [2, 20000000] },
	],
	period: ["cpu", "nanoseconds", 10000000],
});
const heap = (n) => profile({
	types: [["alloc_space", "bytes"], ["inuse_space", "bytes"]],
	samples: [{ stack: [2, 1], values: [100 * n, 7] },
		{ stack: [3, 1], values: [50, 0] }],
});
const odd = profile({
	types: [["lock-wait", "furlongs"]],
	samples: [{ stack: [2, 1], values: [5] }],
});

const one = (types, values, period) => profile({ types, period,
	samples: [{ stack: [2, 1], values }] });
const go = one([["goroutine", "count"], ["inuse_objects", "count"],
	["contentions", "count"], ["delay", "nanoseconds"]], [4, 3, 2, 1000]);

const form = (fields) => msg(...Object.entries(fields).flatMap(([k, v]) => [
	Buffer.from(`--XX\r\nContent-Disposition: form-data; name="${k}"; ` +
	    `filename="${k}.pprof"\r\nContent-Type: application/octet-stream` +
	    "\r\n\r\n"),
	Buffer.from(v), Buffer.from("\r\n")]), Buffer.from("--XX--\r\n"));
const pair = (name, value) => bytes(1, msg(bytes(1, name), bytes(2, value)));
const labels = { service_name: "pushed", __name__: "process_cpu",
	"odd-label name": "x/y", region: "us", profile_id: "17" };
const push = bytes(1, msg(
	...Object.entries(labels).map(([k, v]) => pair(k, v)),
	bytes(2, bytes(1, gzipSync(cpu)))));

const out = {
	"pprof.bin": cpu,
	"pprof.gz": gzipSync(cpu),
	"odd.bin": odd,
	"ns.bin": one([["cpu", "nanoseconds"]], [70000000],
		["cpu", "nanoseconds", 10000000]),
	"unsaid.bin": one([["cpu", "nanoseconds"]], [70000000],
		["cpu", "nanoseconds", 7777777]),
	"cycles.bin": one([["cpu", "cycles"]], [70]),
	"own-bytes.bin": one([["own", "bytes"]], [70]),
	"own-count.bin": one([["own", "count"]], [7]),
	...Object.fromEntries(["usec", "msec", "min", "h", "days"].map((u) =>
	    [`${u}.bin`, one([["cpu", u]], [7])])),
	"ms.bin": one([["cpu", "milliseconds"]], [70],
		["cpu", "milliseconds", 10]),
	"kb.bin": one([["inuse_space", "kilobytes"]], [3]),
	"large-s.bin": one([["cpu", "seconds"]], [9223372037n]),
	"goraw.bin": go,
	"goform.bin": form({ profile: go,
		sample_type_config: JSON.stringify({
			goroutine: { units: "goroutines",
				"display-name": "goroutines",
				aggregation: "average" },
			inuse_objects: { units: "objects",
				aggregation: "average" },
			contentions: { units: "lock_samples",
				"display-name": "mutex_count" },
			delay: { units: "lock_nanoseconds",
				"display-name": "mutex_duration" } }) }),
	"form.bin": form({ profile: gzipSync(cpu) }),
	"delta.bin": form({ profile: heap(3), prev_profile: heap(1),
		sample_type_config: JSON.stringify({
			alloc_space: { units: "bytes", cumulative: true },
			inuse_space: { units: "bytes",
				aggregation: "average" } }) }),
	"first.bin": form({ profile: heap(3),
		sample_type_config: JSON.stringify({
			alloc_space: { cumulative: true } }) }),
	"push.bin": push,
	"push.gz": gzipSync(push),
	"push.json": JSON.stringify({ series: [{
		labels: Object.entries(labels).map(([name, value]) =>
		    ({ name, value })),
		samples: [{ rawProfile: cpu.toString("base64"), ID: "1" }] }] }),
	"trie.bin": Buffer.from("0000010261620002016301000164020000", "hex")
	    .subarray(0, 16),
	"tree.bin": Buffer.from("000001016100020162010001630200", "hex"),
	"a.folded": "main;read 3\nmain;write 2\n",
	"a.gz": gzipSync("main;read 3\nmain;write 2\n"),
	"a.lines": "main;read\n\nmain;read\nmain;write\n",
};
for (const [name, data] of Object.entries(out))
	writeFileSync(`${dir}/${name}`, data);
