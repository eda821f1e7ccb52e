#!/bin/bash
# Health knows of the scraper: a target that does not answer and why, that it
# answers again, a scraper that was killed, and one that was stopped on purpose.
. "$(dirname "$0")/daemon-lib.bash"
. tests/live/port.sh
free_port good
free_port late
configure 500ms 500ms
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
interval = 200ms
[target good]
prometheus = http://127.0.0.1:$good/up
[target late]
prometheus = http://127.0.0.1:$late/up
END
printf '[health]\nstale = 3s\n' >"$dir/fcgi.conf"
mkdir "$dir/www"
echo 'up 1' >"$dir/www/up"
serve() {
	begin "$dir/$1.log" python3 -m http.server -b 127.0.0.1 -d "$dir/www" "$1"
}
serve "$good"
start_daemon one -s "$dir/store"
daemon=$last
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" \
	-p all -c "$dir/fcgi.conf"
start_scrape() {
	begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"
	scrape=$last
}
# health EXPRESSION : is it true of health, as `h`, and the scraper, as `s`?
health() {
	REQUEST_METHOD=GET REQUEST_URI=/api/v1/health QUERY_STRING='' \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null |
		sed '1,/^\r*$/d' >"$dir/health"
	python3 - "$1" "$dir/health" <<-'PY' 2>/dev/null
	import json, sys
	h = json.load(open(sys.argv[2]))
	s = [s for s in h['sources'] if s['name'] == 'scrape']
	s, why = s[0] if s else None, h.get('reason', '')
	sys.exit(not eval('(' + sys.argv[1] + ')'))
	PY
}
becomes() { # NAME EXPRESSION
	if await 60 health "$2"; then ok "$1"; else not_ok "$1" "$(cat "$dir/health")"; fi
}
becomes "nothing is said where there is none" 'h["sources"] and s is None'
start_scrape
becomes "a target that does not answer, and why" 'h["status"] == "degraded" and
	"scrape: no answer from 1 of 2 targets: late (prometheus: " in why and
	s["state"] == "degraded"'
serve "$late"
becomes "it answers again" 's["state"] == "attached" and "scrape" not in why'
end "$last"
becomes "and not any more" '"no answer from 1 of 2 targets: late" in why'
serve "$late"
becomes "and again" '"scrape" not in why'
marks() {
	REQUEST_METHOD=GET REQUEST_URI='/api/v1/marks' \
		QUERY_STRING='what=target-down,target-up' \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null |
		python3 -c 'import json, sys
for m in json.loads(sys.stdin.read().split("\r\n\r\n", 1)[1])["marks"]:
	print(m["what"], m["service"], *m["text"].split(": ")[:2])'
}
expect "each is a mark" "$(marks)" "target-down late late prometheus
target-up late late
target-down late late prometheus
target-up late late"
end "$scrape" KILL
becomes "a scraper that was killed" 'h["status"] == "degraded" and
	"scrape: memlens-scrape has died" in why'
start_scrape
becomes "it is back" 's["state"] == "attached" and "scrape" not in why'
end "$scrape"
becomes "one that was stopped is off" 's["state"] == "off"'
sleep 4 # longer than health waits for the silent
expect_true "and nothing is wrong with that" health \
	's["state"] == "off" and "scrape" not in why'
end "$daemon"
