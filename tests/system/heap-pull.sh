#!/bin/bash
# memlens-scrape pulls heap profiles: jemalloc's over HTTP and from dump files
# as jeprof reads them, Go's as go tool pprof does; a process that begins
# anew; endpoints that nobody should trust.
. "$(dirname "$0")/daemon-lib.bash"
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
command -v jeprof >/dev/null && [ -n "$jemalloc" ] ||
	{ echo "skip - heap profiles: no jemalloc with jeprof"; exit 77; }
. tests/live/port.sh
free_port port
configure 500ms 500ms
mkdir "$dir/www" "$dir/dumps"
begin "$dir/endpoints.log" python3 tests/system/lib/heap_endpoints.py "$port" "$dir/www"
url=http://127.0.0.1:$port

# ---- programs whose heap is known ----

# oracle NAME MALLOC_CONF : its lines go to descriptor $to, come from $from
oracle() {
	mkfifo "$dir/$1.in" "$dir/$1.out"
	MALLOC_CONF=$2 LD_PRELOAD=$jemalloc "$BUILD/system/heap_oracle" \
		<"$dir/$1.in" >"$dir/$1.out" 2>"$dir/$1.err" &
	program=$!
	pids+=("$program")
	exec {to}>"$dir/$1.in" {from}<"$dir/$1.out"
}
# tell WORDS : and wait until it is done
tell() {
	answer=
	echo "$*" >&"$to"
	read -r -t 60 answer <&"$from"
}
publish() { # it is whole at once, as an endpoint's answer is
	tell dump "$dir/next.heap"
	mv "$dir/next.heap" "$dir/www/now.heap"
}
oracle one prof:true,prof_accum:true,lg_prof_sample:0,prof_prefix:"$dir/dumps/jp"
if [ ! -d "/proc/$program" ] || ! { tell leak 1000; publish; [ "$answer" = 0 ]; }; then
	echo "skip - heap profiles: this jemalloc has no profiler"
	exit 77
fi
tell churn 1000
publish

start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
profile-interval = 500ms
profile-timeout = 2s
profile-size = 8M
[target je]
instance = one
profile = $url/now.heap
[target dumps]
instance = one
dumps = $dir/dumps/jp
[target go]
instance = one
profile = $url/heap.pb.gz
$(for name in never flood lies large bomb half page missing moved drip heads chunks torn empty; do
	printf '[target %s]\nprofile = %s/%s\n' "$name" "$url" "$name"
done)
[target nobody]
dumps = $dir/no-folder/jp
END
expect "the configuration is good" "$("$BUILD/memlens-scrape" -n -f "$dir/scrape.conf" 2>&1)" "configuration OK"
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
scrape=$last

ask() {
	REQUEST_METHOD=GET REQUEST_URI="$1" QUERY_STRING="${1#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null | sed '1,/^\r*$/d'
}
# amount QUERY FUNCTION : of the last minutes, its own and its callees'
amount() {
	ask "/api/v1/table.json?query=$1&from=now-10m" >"$dir/table"
	python3 - "$2" "$dir/table" <<-'PY' 2>/dev/null
	import json, sys
	t = json.load(open(sys.argv[2]))
	names = [c if isinstance(c, str) else c['name'] for c in t.get('columns', [])]
	for r in t.get('rows', t.get('functions', [])):
	    if r['name'] == sys.argv[1]:
	        print(r['total'])
	PY
}
# jeprof's word for the same
jeprof_says() { # DUMP FUNCTION OPTION
	jeprof --text --show_bytes "$3" "$BUILD/system/heap_oracle" "$1" 2>/dev/null |
		awk -v f="$2" '$NF == f { print $4 }'
}
holds() { [ "$(amount "$1" "$2")" = "$3" ]; }

want=$(jeprof_says "$dir/www/now.heap" keep_leaking --inuse_space)
expect_true "inuse_space is jeprof's: $want" [ -n "$want" ]
expect_true "memory in use, by function, is jeprof's" \
	await ${HOLD:-60} holds 'inuse_space%7Bservice=%22je%22%7D' keep_leaking "$want"
expect "objects in use too" "$(amount 'inuse_objects%7Bservice=%22je%22%7D' keep_leaking)" \
	"$(jeprof_says "$dir/www/now.heap" keep_leaking --inuse_objects)"
expect "what was allocated before the first pull is nobody's" \
	"$(amount 'alloc_space%7Bservice=%22je%22%7D' keep_churning)" ""

# ---- a flow: what is more than before ----

tell churn 5000
cp "$dir/www/now.heap" "$dir/first.heap"
publish
more=$(($(jeprof_says "$dir/www/now.heap" keep_churning --alloc_space) -
	$(jeprof_says "$dir/first.heap" keep_churning --alloc_space)))
expect_true "memory allocated since is jeprof's difference: $more" \
	await ${HOLD:-60} holds 'alloc_space%7Bservice=%22je%22%7D' keep_churning "$more"

# The same program again, of which less was allocated.
mv "$dir/www/now.heap" "$dir/second.heap"
exec {to}>&- {from}<&-
end "$program"
oracle two prof:true,prof_accum:true,lg_prof_sample:0
tell churn 300
publish
anew=$(jeprof_says "$dir/www/now.heap" keep_churning --alloc_space)
expect_true "a process that has begun anew: all of its own is more" \
	await ${HOLD:-60} holds 'alloc_space%7Bservice=%22je%22%7D' keep_churning $((more + anew))

# ---- dump files ----

tell dump "$dir/dumps/whole"
head -c $(($(stat -c %s "$dir/dumps/whole") / 2)) "$dir/dumps/whole" \
	>"$dir/dumps/jp.$program.0.m0.heap"
expect_true "a dump that is being written is not taken" \
	await 60 said "$dir/scrape.log" "dumps: $dir/dumps/jp: the dump is not whole"
expect "nothing of it is stored" "$(amount 'inuse_space%7Bservice=%22dumps%22%7D' keep_churning)" ""
tell leak 77
tell dump "$dir/dumps/whole"
mv "$dir/dumps/whole" "$dir/dumps/jp.$program.1.m1.heap"
want=$(jeprof_says "$dir/dumps/jp.$program.1.m1.heap" keep_leaking --inuse_space)
expect_true "one that is whole is: $want" \
	await ${HOLD:-60} holds 'inuse_space%7Bservice=%22dumps%22%7D' keep_leaking "$want"

# ---- Go: the table of the source and of what we export of it is the same ----

# top FILE TYPE : go tool pprof's rows: own and cumulative bytes or objects
top() {
	go tool pprof -top -nodecount=1000 -nodefraction=0 -unit=B \
		-sample_index="$2" "$1" 2>/dev/null | sed '1,/flat%/d' |
		awk '{ print $1, $4, $6 }' | sort
}
export_of() { # TYPE
	ask "/api/v1/flamegraph.pprof?query=$1%7Bservice=%22go%22%7D&from=now-10m" \
		>"$dir/export.pb.gz"
}
same_table() { # TYPE
	export_of "$1"
	top "$dir/export.pb.gz" "$1" >"$dir/ours"
	[ -s "$dir/ours" ] && cmp -s "$dir/ours" "$dir/theirs"
}
go_table() { # NAME FILE TYPE [ITS COLUMN]
	top "$2" "$3" >"$dir/theirs"
	if await "${HOLD:-60}" same_table "$3"; then ok "$1"
	else not_ok "$1" "$(diff "$dir/theirs" "$dir/ours" | head -n 12)"; fi
}
if command -v go >/dev/null && env CGO_ENABLED=0 GO111MODULE=off HOME="$dir" GOCACHE="$BUILD/go-cache" \
	go build -o "$dir/go_heap" tests/system/lib/heap.go 2>"$dir/go.err" &&
	"$dir/go_heap" "$dir/go1.pb.gz" "$dir/go2.pb.gz"; then
	mv "$dir/go1.pb.gz" "$dir/www/heap.pb.gz"
	for type in inuse_space inuse_objects; do
		go_table "Go: $type" "$dir/www/heap.pb.gz" $type
	done
	cp "$dir/www/heap.pb.gz" "$dir/go_base.pb.gz"
	mv "$dir/go2.pb.gz" "$dir/www/heap.pb.gz"
	# what go tool pprof -base says lies between the two
	go tool pprof -proto -output "$dir/between.pb.gz" -base "$dir/go_base.pb.gz" \
		"$dir/www/heap.pb.gz" 2>/dev/null
	for type in alloc_space alloc_objects; do
		go_table "Go: $type, more than before" "$dir/between.pb.gz" $type
	done
else
	echo "skip - Go's profiles: $(tail -n 1 "$dir/go.err" 2>/dev/null)"
fi

# ---- endpoints that nobody should trust ----

expect_why() { # TARGET WORDS
	expect_true "$1: $2" await ${HOLD:-90} said "$dir/scrape.log" " $1: .*$2"
}
expect_why never "no answer in time"
expect_why flood "an answer over 8388608 bytes"
expect_why lies "the answer is cut short"
expect_why large "an answer over 8388608 bytes"
expect_why bomb "400 bytes out of one"
expect_why half "line\|not whole"
expect_why page "neither a heap dump nor a pprof"
expect_why moved "status 302"
expect_why drip "no answer in time"
expect_why heads "a header over its bounds"
expect_why chunks "hexadecimal"
expect_why torn "the answer is cut short"
expect_why empty "an empty answer"
expect_why nobody "No such file"
for name in never flood lies large bomb half page moved drip heads chunks torn empty nobody; do
	ask "/api/v1/flamegraph.json?query=inuse_space%7Bservice=%22$name%22%7D&from=now-10m" >"$dir/none"
	expect_text "$name: nothing is stored of it" "$(cat "$dir/none")" \
		"no profile of a service .*$name"
done
ask /api/v1/health >"$dir/health"
expect_text "health names them" "$(cat "$dir/health")" 'no answer from [0-9]* of [0-9]* targets'
most=$(awk '/^VmHWM/ { print $2 }' "/proc/$scrape/status")
expect_true "and they cost no memory: $most kB" [ "$most" -lt 131072 ]
end "$scrape"
expect "SIGTERM: status" "$status" 0
exec {to}>&- {from}<&-
