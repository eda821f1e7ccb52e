#!/bin/bash
# Over a stop, a crash and two starts of the daemon: what threads did is told
# for as long as they were watched, and for how long that was is said.
. "$(dirname "$0")/daemon-lib.bash"
need_root "BPF"
name=wr_${dir##*.}
name=${name:0:15}
cp "$BUILD/system/identity_oracle" "$dir/$name"
configure 1s
sed -i '/^\[cpu\]/,/^enabled/s/no/yes/' "$dir/conf"
printf '[offcpu]\nenabled = yes\n[alloc_space]\nenabled = no\n' >>"$dir/conf"
start_daemon one -s "$dir/store"
one=$last
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
answer() { # URI
	REQUEST_METHOD=GET REQUEST_URI="$1" QUERY_STRING="${1#*\?}" \
		cgi-fcgi -bind -connect "$dir/fcgi" 2>/dev/null |
		sed '1,/^\r*$/d' >"$dir/answer"
}

sleep 2
"$dir/$name" sleep 20000 >"$dir/true" &
oracle=$!
pids+=("$oracle")
from=$(($(date +%s) - 1))
sleep 2.3
end "$one" TERM
sleep 0.6
start_daemon two -s "$dir/store"
two=$last
sleep 2.3
end "$two" KILL
start_daemon three -s "$dir/store"
expect_true "it lives longer than that" kill -0 "$oracle"
wait "$oracle"
until=$(($(date +%s) + 1))
sleep 2.5 # the slots are over, and stored
range="from=$from&until=$until"
answer "/api/v1/threads?query=thread_seconds_total%7Bservice%3D%22$name%22%7D&$range&step=1"
cp "$dir/answer" "$dir/threads"
read -r _ least most _ <"$dir/true"
# is EXPRESSION : of the answer, in jq
is() { jq -e --argjson least "$least" --argjson most "$most" \
	--argjson range $((until - from)) "$1" "$dir/threads" >"$dir/said"; }
report() { jq -c '{watched, states: [.pools[].states[] | {state, seconds}]}' \
	"$dir/threads"; }
check() { if is "$2"; then ok "$1"; else not_ok "$1" "$(report)" "lived $least to $most of $((until - from)) s"; fi; }

check "that some was not watched is said" \
	'.watched.seconds > 4 and .watched.seconds < $range - 0.6'
check "what the threads did is their life, less that" \
	'([.pools[].states[].seconds] | add) as $told |
	($range - .watched.seconds) as $not |
	$told > $least / 1e9 - $not - 0.03 and
	$told < $most / 1e9 - $not + 0.03'
check "the thread is one in each slot, as far as that was watched" \
	'(.watched.points | map({key: (.[0] | tostring), value: .[1]}) |
	from_entries) as $watched |
	[.pools[].states[].points[] | select(.[1] != null)] | group_by(.[0]) |
	map(((map(.[1]) | add) - 1) * $watched[.[0][0] | tostring]) | .[1:-1] |
	length >= 4 and all(. > -0.03 and . < 0.03)'
check "some slots were watched in part" \
	'[.watched.points[1:-1][] | select(.[1] > 0 and .[1] < 0.995)] |
	length >= 2'
for type in offcpu wall lock; do
	answer "/api/v1/flamegraph.json?query=$type&$range"
	expect "$type says the same" \
		"$(jq '.memlens.watched_seconds // "nothing"' "$dir/answer")" \
		"$(jq .watched.seconds "$dir/threads")"
done
answer "/api/v1/flamegraph.json?query=cpu&$range"
cpu=$(jq '.memlens.watched_seconds // 0' "$dir/answer")
expect_true "CPU time was sampled for about as long" awk -v a="$cpu" \
	-v b="$(jq .watched.seconds "$dir/threads")" \
	'BEGIN { exit !(a > b - 1 && a < b + 1) }'
