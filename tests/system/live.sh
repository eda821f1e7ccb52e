#!/bin/bash
# The whole of it, live: a LevelDB service under load, the daemon, scraper,
# workers and nginx, as `make run` starts them, with slots of 2 s.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skip - live: needs root"; exit 77; }
. tests/live/port.sh
free_port port
free_port KVPORT
free_port STATSPORT
# not below the build, which may lie where only root can go
RUN=$(mktemp -d /var/tmp/memlens-live.XXXXXX)
export RUN KVPORT STATSPORT SLOT=2s RESTART=4 RATE=1500
api=http://127.0.0.1:$port/api/v1
setsid tests/live/run.sh "$BUILD" $port >"$BUILD/live.out" 2>&1 &
run=$!
trap 'kill -CONT $run 2>/dev/null; kill -TERM $run 2>/dev/null; wait $run 2>/dev/null; rm -rf "$RUN"' EXIT

ok() { echo "ok - $1"; }
no() { echo "not ok - $1${2:+ - $2}"; }
check() { if [ "$2" = yes ]; then ok "$1"; else no "$1" "${3:-$2}"; fi; }
get() { curl -s -m 10 "$@"; }
pid() { cat "$RUN/pid/$1"; }
flame() { # SERVICE FROM UNTIL: the whole flame graph
	get -G "$api/flamegraph.json" --data-urlencode "query=cpu{service=\"$1\"}" \
		-d from="$2" -d until="$3" -d max-nodes=-1
}
ticks() { flame "$@" | jq .flamebearer.numTicks; }
# until COMMAND succeeds, at most N seconds
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.2
	done
}
# Whatever else runs on the host may have stacks that are not whole.
healthy() {
	get "$api/health" | jq -e '.status == "ok" or .status == "degraded" and
		([.reason | splits("; ")] | all(test("^(cpu|faults|offcpu): "
		+ "stacks (that are not whole|of waits from)")))' \
		>/dev/null
}
until_now() { get "$api/health" | jq '.store.until|floor'; }

# ---- it starts, and shows LevelDB ----
started() { grep -q "^http://localhost:$port/$" "$BUILD/live.out"; }
await 120 started
check "the URL is the last line" \
	"$([ "$(tail -n 1 "$BUILD/live.out")" = "http://localhost:$port/" ] && echo yes)"
named() {
	flame kvservice now-1m now | jq -r '.flamebearer.names[]' |
		grep -q '^leveldb::DBImpl::'
}
check "the flame graph names LevelDB's functions" \
	"$(await 120 named && echo yes)"
# How soon is told by what is stored, not by how soon we came to ask.
early() {
	local from
	from=$(get "$api/health" | jq '.store.from|floor')
	flame kvservice "$from" $((from + 30)) | jq -r '.flamebearer.names[]' |
		grep -q '^leveldb::DBImpl::'
}
check "it does so in the first 30 s" "$(early && echo yes)"
moves() {
	get -G "$api/series" -d from=now-1m -d fn=rate -d step=2 --data-urlencode \
	'query=namedprocess_namegroup_cpu_seconds_total{groupname="kvservice"}' |
		jq -e '[.series[].points[]|select(.[1]!=null)]|length>=4' >/dev/null
}
check "the CPU line has points" "$(await 120 moves && echo yes)"
check "memlens-draw draws for workers of the user nobody" "$(
	get -G "$api/flamegraph.png" -d query=cpu -d from=now-1m |
		head -c 4 | grep -qa PNG &&
	get "$api/graph.svg" | grep -q '^</svg>' && echo yes)"
await 60 healthy
check "health is ok, cpu attached" \
	"$(healthy && get "$api/health" | jq -r '
	(.sources[]|select(.name=="cpu")|.state)=="attached"|if . then "yes" else "no" end')"

# ---- a range is exactly the sum of its slots ----
start=$(get "$api/health" | jq '.store.from|floor')
enough() { local now && now=$(until_now) && [ "${now:-0}" -ge $((start + 16)) ]; }
await 120 enough
end=$(until_now)
whole=$(ticks kvservice $((end - 12)) "$end")
sum=0
for ((t = end - 12; t < end; t += 2)); do
	sum=$((sum + $(ticks kvservice $t $((t + 2)))))
done
check "numTicks is the sum over the slots" \
	"$([ "$whole" -gt 0 ] && [ "$whole" = "$sum" ] && echo yes)" "$whole, $sum"
# borders inside of slots: parts of odd length
sum=0
for ((ms = 0; ms < 12000; ms += 1500)); do
	a=$(((end - 12) * 1000 + ms))
	sum=$((sum + $(ticks kvservice $a $((a + 1500)))))
done
check "parts that cut slots add up to the same" \
	"$([ "$whole" = "$sum" ] && echo yes)" "$whole, $sum"

# ---- a slot is visible within 2 s of its end ----
# Five looks, spread over a slot and more, and none is later; a machine that
# has just not run us is asked again.
visible() {
	late=0
	for _ in 1 2 3 4 5; do
		late=$(get "$api/health" | jq "[$late, .now - .store.until]|max")
		sleep 0.7
	done
	[ "$(jq -n "$late < 4")" = true ]
}
await 240 visible && fine=yes || fine=
check "a slot is visible within 2 s of its end" "$fine" "$late s"

# ---- the playground ----
put() { get -X PUT --data-binary "$2" "$api/kv/$1" | jq -r .value; }
read_back() { get "$api/kv/$1" | jq -r .value; }
roundtrip() {
	local key
	key=$(jq -rn --arg k "$2" '$k|@uri')
	put "$key" "$3" >/dev/null
	check "playground: $1" "$([ "$(read_back "$key")" = "$3" ] && echo yes)"
}
roundtrip "plain" key value
roundtrip "spaces" "my key" "a value with  spaces"
roundtrip "quotes" "it's \"so\"" 'say "hi"'
roundtrip "UTF-8" "schlüssel-鍵" "größe 🗝"
roundtrip "slashes" "a/b//c/" "x/y"
check "playground: a missing key is 404" \
	"$([ "$(get -o /dev/null -w '%{http_code}' "$api/kv/none")" = 404 ] && echo yes)"

# ---- the scraper's series ----
levels() {
	get -G "$api/series" -d from=now-1m --data-urlencode \
		'query=leveldb_level_files{service="kvservice"}' |
		jq -e '.series|length>0' >/dev/null
}
check "LevelDB's levels are series" "$(await 120 levels && echo yes)"

# ---- the symbols child may die ----
child=$(pgrep -P "$(pid memlensd)" | head -n 1)
kill -9 "$child"
from=$(date +%s)
again() {
	flame kvservice $((from + 5)) now | jq -e '.flamebearer.numTicks > 0 and
	([.flamebearer.names[]|select(startswith("leveldb::"))]|length) > 0' \
		>/dev/null
}
check "the symbols child was killed: profiles go on, with names" \
	"$(await 120 again && echo yes)"

# ---- a worker may die in the middle of a request ----
bad=0
for i in $(seq 40); do
	(get -G -o /dev/null -w '%{http_code}\n' "$api/flamegraph.svg" -d from=now-5m \
		--data-urlencode 'query=cpu' >"$RUN/code.$i") &
	req=$!
	sleep 0.00$((i % 10))
	victim=$(pgrep -P "$(pid memlens-fcgi-query)" | shuf -n 1)
	kill -9 "$victim" 2>/dev/null
	wait $req
	[ "$(cat "$RUN/code.$i")" = 200 ] || bad=$((bad + 1))
	# one that is still dying would take the next request along, too
	gone() { [ -z "$victim" ] || [ ! -e "/proc/$victim" ]; }
	await 60 gone
	sleep 0.1
done
check "workers killed in the middle of 40 GETs: nothing is noticed" \
	"$([ $bad = 0 ] && echo yes)" "$bad answers were not 200"

# ---- the collector may die ----
# Who would start it again stands still until we have looked.
before=$(ticks kvservice $((end - 12)) "$end")
kill -STOP $run
killed=$(date +%s)
kill -9 "$(pid memlensd)"
says() { get "$api/health" | jq -r '.status+" "+(.reason|tostring)' | grep -q "no collector"; }
check "the collector was killed: health says so at once" "$(await 60 says && echo yes)"
history=$(ticks kvservice $((end - 12)) "$end")
check "the collector was killed: the history stays" \
	"$([ "$history" = "$before" ] && echo yes)" "$before, $history"
kill -CONT $run
ready_again() { [ "$(grep -c 'ready: ' "$RUN/log/memlensd.log")" -ge 2 ]; }
await 120 ready_again
outage=$(($(date +%s) - killed))
back() { [ "$(get "$api/health" | jq '.store.until|floor')" -gt $((killed + 8)) ]; }
check "a new collector goes on" "$(await 120 back && echo yes)"
# A slot is 2 s; the one that was open at either end may be missing.
gap=$(get -G "$api/series" -d from=$((killed - 10)) -d until="$(until_now)" -d step=2 -d fn=increase \
	--data-urlencode 'query=node_context_switches_total' |
	jq '[.series[0].points[]|select(.[1]==null)]|length*2')
check "the gap is the outage and at most the open slots" \
	"$([ "$gap" -le $((2 * outage + 6)) ] && echo yes)" "$gap s of $outage s"
check "health is ok again" "$(await 60 healthy && echo yes)"

# ---- all figures that the pages show ----
bad=$(get "$api/series?query=nope%7B" | jq -r .field)
check "a bad query names the field" "$([ "$bad" = query ] && echo yes)"
unknown=$(get -o /dev/null -w '%{http_code}' -G "$api/flamegraph.json" \
	--data-urlencode 'query=cpu{service="nothing"}')
check "an unknown service is not a zero" \
	"$([ "$unknown" = 404 ] || [ "$(flame nothing now-1m now | jq .memlens.slots)" = 0 ] && echo yes)" "$unknown"
check "the store is clean" "$("$BUILD/memlens" verify "$RUN/store" >/dev/null && echo yes)"

# ---- and it stops as one ----
kill -TERM $run
wait $run
none_left() { left=$(pgrep -f "$RUN/bin/" | wc -l) && [ "$left" = 0 ]; }
check "TERM ends all that was started" "$(await 30 none_left && echo yes)" "processes are left"
rm -rf "$RUN"
