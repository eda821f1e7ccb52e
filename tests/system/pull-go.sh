#!/bin/bash
# Go's profiles that are no heaps: what go tool pprof says of the source and of
# our export of it is one table; what counts from the start, between two pulls.
. "$(dirname "$0")/daemon-lib.bash"
. tests/live/port.sh
command -v go >/dev/null && env CGO_ENABLED=0 GO111MODULE=off HOME="$dir" GOCACHE="$BUILD/go-cache" \
	go build -o "$dir/waits" tests/system/lib/waits.go 2>"$dir/go.err" ||
	{ echo "skip - Go's profiles: no Go"; exit 77; }
free_port port
configure 500ms 500ms
mkdir "$dir/www"
"$dir/waits" "$dir/www" || { not_ok "the program runs"; exit 1; }
for name in goroutine mutex block; do cp "$dir/www/$name.1" "$dir/www/$name"; done
begin "$dir/endpoints.log" python3 tests/system/lib/heap_endpoints.py "$port" "$dir/www"
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
url=http://127.0.0.1:$port/debug/pprof
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
profile-interval = 500ms
[target go]
profile = $url/goroutine
profile = $url/mutex
profile = $url/block?debug=0
[target burns]
profile = $url/profile
# once
profile-interval = 1d
END
await 60 curl -s -o "$dir/first" "http://127.0.0.1:$port/profile"
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"

ask() {
	REQUEST_METHOD=GET REQUEST_URI="$1" QUERY_STRING="${1#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null | sed '1,/^\r*$/d'
}
# top FILE UNIT [COLUMN] : go tool pprof's rows: own, cumulative, function
top() {
	go tool pprof -top -nodecount=1000 -nodefraction=0 -unit="$2" \
		${3:+-sample_index="$3"} "$1" 2>/dev/null | sed '1,/flat%/d' |
		awk '{ print $1, $4, $6 }' | sort
}
same() { # TYPE SERVICE UNIT
	ask "/api/v1/flamegraph.pprof?query=$1%7Bservice=%22$2%22%7D&from=now-10m" >"$dir/export"
	top "$dir/export" "$3" >"$dir/ours"
	[ -s "$dir/ours" ] && cmp -s "$dir/ours" "$dir/theirs"
}
# same_table NAME TYPE SERVICE UNIT SOURCE COLUMN
same_table() {
	top "$5" "$4" "$6" >"$dir/theirs"
	if await "${HOLD:-60}" same "$2" "$3" "$4"; then ok "$1: $(wc -l <"$dir/theirs") rows"
	else not_ok "$1" "$(diff "$dir/theirs" "$dir/ours" | head -n 12)"; fi
}

same_table "goroutines" goroutines go count "$dir/www/goroutine" goroutine
same_table "the CPU's profile" cpu burns ns "$dir/www/profile" cpu
# all that was there before the first pull is nobody's
pulled() { ask "/api/v1/flamegraph.json?query=$1%7Bservice=%22go%22%7D&from=now-10m" | grep -q '"numTicks":0'; }
for name in mutex block; do
	expect_true "$name: nothing before the first pull" await "${HOLD:-60}" pulled ${name}_duration
	mv "$dir/www/$name.2" "$dir/www/$name"
	go tool pprof -proto -output "$dir/between" -base "$dir/www/$name.1" "$dir/www/$name" 2>/dev/null
	same_table "$name: time, between two pulls" ${name}_duration go ns "$dir/between" delay
	same_table "$name: contentions" ${name}_count go count "$dir/between" contentions
done
