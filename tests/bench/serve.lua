-- For wrk: an hour of its own for each request, from FROM to UNTIL.
local from, span = tonumber(os.getenv("FROM")), tonumber(os.getenv("UNTIL"))
	- tonumber(os.getenv("FROM")) - 3600
local i = 0
function request()
	local start = from + i * 7919 % span
	i = i + 1
	return wrk.format("GET", (os.getenv("URI"):gsub("FROM", start)
		:gsub("UNTIL", start + 3600)))
end
function done(summary, latency)
	io.write(string.format("wrk %.1f %.3f %.3f %d\n",
		summary.requests / summary.duration * 1e6,
		latency:percentile(50) / 1000, latency:percentile(99) / 1000,
		summary.errors.status + summary.errors.read +
		summary.errors.timeout))
end
