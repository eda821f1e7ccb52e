#!/bin/bash
# Counters of pushes add up by format and worker, and MemLens's own cost is
# that of all of its processes.
. tests/api/lib
. tests/api/stack
start_stack -j 2
printf 'a;b 1\n' >"$T/one"
workers()
{
	cat "/proc/$worker/task/$worker/children"
}
two()
{
	[ "$(workers | wc -w)" -eq 2 ]
}
wait_until two
# by one worker while the other is stopped: one series of both would be reset
# at each turn
for i in 1 2 3; do
	for other in $(workers); do
		kill -STOP "$other"
		put "$T/one" "/ingest?name=counts.cpu&format=folded&from=now-10s"
		kill -CONT "$other"
		status 200 || echo "# $(cat "$T/head")"
	done
done
put "$T/one" "/ingest?name=counts.cpu&format=lines&from=now-10s"
counted()
{
	get GET "/api/v1/series?query=memlens_ingest_profiles_total&sum=instance&fn=$1&step=10m&from=$(($(date +%s) / 600 * 600 - 600))&until=$(($(date +%s) / 600 * 600 + 600))"
	# a step may have ended since: increases add up, of totals the last counts
	js '["folded", "lines"].map((f) => d.series.filter((s) =>
	    s.labels.format === f).flatMap((s) => s.points.filter((p) =>
	    p[1] !== null).slice('$([ $1 = last ] && echo -1)'))
	    .reduce((a, p) => a + p[1], 0)).join() === "6,1"'
}
for i in $(seq 60); do counted increase && break; sleep 0.5; done
by_worker() # both workers, three folded ones each
{
	get GET "/api/v1/series?query=memlens_ingest_profiles_total%7Bformat=%22folded%22%7D&fn=increase&step=20m&from=$(($(date +%s) / 600 * 600 - 600))&until=$(($(date +%s) / 600 * 600 + 600))"
	js 'd.series.length === 2 && d.series[0].labels.instance !==
	    d.series[1].labels.instance &&
	    d.series.every((s) => s.points.reduce((a, p) => a + p[1], 0) === 3)'
}
both()
{
	by_worker && counted increase
}
check "pushes are counted by format and worker" both
check "and so are the totals" counted last
printf 'not good at all' >"$T/bad"
refused() # DO : how many, whatever is stored after it
{
	get GET "/api/v1/series?query=memlens_ingest_refused_total&sum=instance&fn=$1&step=10m&from=$(($(date +%s) / 600 * 600 - 600))&until=$(($(date +%s) / 600 * 600 + 600))"
	js '["bad request"].map((why) => d.series.filter((s) =>
	    s.labels.reason === why).flatMap((s) => s.points)
	    .reduce((a, p) => a + (p[1] || 0), 0)).join() === "4"'
}
put "$T/bad" "/ingest?name=counts.cpu&format=folded&from=now-10s"
put "$T/bad" "/ingest?name=counts.cpu&format=pprof&from=now-10s"
put "$T/one" "/ingest?name=&format=folded&from=now-10s"
put "$T/one" "/ingest?name=counts.cpu&format=folded&from=now-10s&until=x"
for i in $(seq 60); do refused increase && break; sleep 0.5; done
check "pushes that are refused are counted, though no good one follows" \
	refused increase
get GET /ingest
check "another method is refused" status 405
put "$T/one" "/ingest?name=counts.cpu&format=folded" \
	HTTP_ORIGIN=http://evil.example HTTP_HOST=localhost \
	HTTP_SEC_FETCH_SITE=cross-site
check "and so is another site" status 403
turned_away()
{
	get GET "/api/v1/series?query=memlens_ingest_refused_total&sum=instance&fn=increase&step=20m&from=$(($(date +%s) / 600 * 600 - 600))&until=$(($(date +%s) / 600 * 600 + 600))"
	js '["forbidden", "wrong method"].map((why) => d.series.filter((s) =>
	    s.labels.reason === why).flatMap((s) => s.points)
	    .reduce((a, p) => a + (p[1] || 0), 0)).join() === "1,1"'
}
for i in $(seq 60); do turned_away && break; sleep 0.5; done
check "what does not come as far as the page is counted, too" turned_away
ours()
{
	get GET /api/v1/health
	js 'd.self.processes.some((p) => p.name.startsWith("memlens-fcgi ") &&
	    p.rss > 0 && p.cpu !== null) &&
	    d.self.processes.some((p) => p.name === "memlensd") &&
	    Math.abs(d.self.cpu - d.self.processes.reduce((a, p) =>
	    a + p.cpu, 0)) < 1e-6 &&
	    d.self.private > 0 && d.self.private < d.self.rss &&
	    d.self.rss === d.self.processes.reduce((a, p) => a + p.rss, 0)'
}
for i in $(seq 60); do ours && break; sleep 0.5; done
check "the workers are a part of what MemLens costs" ours
exit $bad
