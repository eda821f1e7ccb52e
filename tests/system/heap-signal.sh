#!/bin/bash
# memlens-scrape asks a program with jemalloc for a dump by a signal, and takes
# what it writes: as jeprof reads it, again where it has grown, and never a
# signal to a program that it would end.
. "$(dirname "$0")/daemon-lib.bash"
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
command -v jeprof >/dev/null && [ -n "$jemalloc" ] ||
	{ echo "skip - dumps on a signal: no jemalloc with jeprof"; exit 77; }
configure 500ms 500ms
mkdir "$dir/dumps"
mkfifo "$dir/in" "$dir/out"
MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:0,prof_prefix:"$dir/dumps/jp" \
	LD_PRELOAD=$jemalloc "$BUILD/system/heap_oracle" <"$dir/in" >"$dir/out" 2>"$dir/err" &
program=$!
pids+=("$program")
exec {to}>"$dir/in" {from}<"$dir/out"
tell() {
	answer=
	echo "$*" >&"$to"
	read -r -t 60 answer <&"$from"
}
tell leak 1000
tell dump "$dir/first"
[ "$answer" = 0 ] || { echo "skip - dumps on a signal: this jemalloc has no profiler"; exit 77; }
echo "$program" >"$dir/pid"
sleep 600 &
pids+=("$!")
echo "$!" >"$dir/other-pid"

start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
profile-interval = 500ms
[target je]
dumps = $dir/dumps/jp
dump-signal = USR2
pid-file = $dir/pid
[target sleeps]
dumps = $dir/dumps/none
dump-signal = USR2
pid-file = $dir/other-pid
END
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"

newest() { find "$dir/dumps" -name "jp.$program.*.heap" -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2; }
dumped() { [ -n "$(newest)" ]; }
# What is in use of a function, on average of the last so many seconds
amount() {
	REQUEST_METHOD=GET REQUEST_URI=/api/v1/table.json \
		QUERY_STRING='query=inuse_space%7Bservice=%22je%22%7D&from=now-'"$2" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null | sed '1,/^\r*$/d' >"$dir/table"
	jq -r --arg f "$1" '.rows[]? | select(.name == $f) | .total' "$dir/table" 2>/dev/null
}
jeprof_says() {
	jeprof --text --show_bytes --inuse_space "$BUILD/system/heap_oracle" "$1" 2>/dev/null |
		awk -v f="$2" '$NF == f { print $4 }'
}
holds() { [ "$(amount keep_leaking 6s)" = "$1" ]; }

expect_true "the program is asked for a dump" await 30 dumped
want=$(jeprof_says "$(newest)" keep_leaking)
expect_true "jeprof reads it: $want bytes" [ "${want:-0}" -ge 1000000 ]
expect_true "memory in use is jeprof's" await "${HOLD:-60}" holds "$want"
tell leak 2000
tell dump "$dir/second"
want=$(jeprof_says "$dir/second" keep_leaking)
expect_true "and once it has grown, of a later dump: $want" await "${HOLD:-60}" holds "$want"
expect_true "who does not catch the signal is named" await 30 said "$dir/scrape.log" "sleeps: .*catch"
expect_true "and lives" kill -0 "$(cat "$dir/other-pid")"
expect_true "the program lives too" kill -0 "$program"
