// A Node program under Pyroscope's own agent, of which only the server's
// address is ours:
//
//	agent.cjs SERVER
//
// Busy in hotLoop until it is killed; holds what keepAlive has allocated.
//
// The newest one asks for node 20; Debian 12 has 18.
const modern = Number(process.versions.node.split(".")[0]) >= 20;
const Pyroscope = require(modern ? "@pyroscope/nodejs" : "pyroscope-node18");

const kept = [];
function hotLoop(until) {
	let x = 0;
	while (Date.now() < until)
		for (let i = 0; i < 1e5; i++) x = (x * 31 + i) % 1000003;
	return x;
}
function keepAlive() {
	for (let i = 0; i < 2000; i++) kept.push({ i, text: "x".repeat(i) });
}

Pyroscope.init({
	serverAddress: process.argv[2],
	appName: "node.test",
	tags: { region: "eu" },
	flushIntervalMs: 1000,
	wall: { samplingDurationMs: 1000, samplingIntervalMicros: 10000,
		collectCpuTime: true },
	heap: { samplingIntervalBytes: 1024, stackDepth: 32 },
});
Pyroscope.start();
setInterval(() => {
	hotLoop(Date.now() + 180);
	if (kept.length < 50000) keepAlive();
}, 200);
