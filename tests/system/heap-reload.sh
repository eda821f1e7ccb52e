#!/bin/bash
# What memlens-scrape has pulled counts once in a slot: while its configuration
# is read again, after it has begun anew, and where it pulls oftener than slots
# are long.
. "$(dirname "$0")/daemon-lib.bash"
. tests/live/port.sh
free_port port
configure 1s 500ms
mkdir "$dir/www" "$dir/dumps"
dump() {
	printf '%s\n' 'heap_v2/1' '  t*: 3: 300 [0: 0]' '@ 0x1234 0x5678' \
		'  t*: 3: 300 [0: 0]' '' 'MAPPED_LIBRARIES:' ''
}
dump >"$dir/www/heap"
begin "$dir/www.log" python3 -m http.server --bind 127.0.0.1 \
	--directory "$dir/www" "$port"
write_dumps() { # one in 0.7 s, as programs do
	local n=0
	while sleep 0.7; do
		dump >"$dir/dumps/new" && n=$((n + 1)) &&
			mv "$dir/dumps/new" "$dir/dumps/jp.77.$n.i$n.heap"
	done
}
write_dumps &
pids+=("$!")
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 1s
profile-interval = 500ms
[target pages]
profile = http://127.0.0.1:$port/heap
[target dumps]
dumps = $dir/dumps/jp
END
ask() {
	REQUEST_METHOD=GET REQUEST_URI="/api/v1/table.json?$1" QUERY_STRING="$1" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null |
		sed '1,/^\r*$/d' >"$dir/table"
}
# amounts SERVICE : of the last slots, those that are there
amounts() {
	local query="query=inuse_space%7Bservice=%22$1%22%7D&from=now-60s" name

	ask "$query"
	name=$(python3 -c 'import json, sys, urllib.parse as u
print(u.quote(json.load(open(sys.argv[1]))["rows"][0]["name"]))' \
		"$dir/table" 2>/dev/null) || return
	ask "$query&step=1s&function=$name"
	python3 -c 'import json, sys
print(*[p[1] for p in json.load(open(sys.argv[1]))["over_time"]["points"]
        if p[1] is not None])' "$dir/table"
}
# have N : there are so many of both
have() {
	[ "$(amounts pages | wc -w)" -ge "$1" ] &&
		[ "$(amounts dumps | wc -w)" -ge "$1" ]
}
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
scrape=$last
expect_true "it pulls" await 60 have 3
for i in 1 2 3 4 5 6; do
	kill -HUP "$scrape"
	sleep 0.3
done
expect_true "it read its configuration again" \
	said "$dir/scrape.log" "configuration reloaded"
before=$(amounts pages | wc -w)
expect_true "and goes on" await 60 have $((before + 2))
end "$scrape"
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
before=$(amounts pages | wc -w)
expect_true "it begins anew" await 60 have $((before + 3))
expect "each slot has what was in use, once" \
	"$(amounts pages | tr ' ' '\n' | sort -u)" 300
expect "of dumps, too" "$(amounts dumps | tr ' ' '\n' | sort -u)" 300
