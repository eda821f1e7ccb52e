#!/bin/bash
# A program of known shape: its functions, their shares, who they belong to.
# What that costs is a benchmark's matter.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin_busy 600
known() {
	local n all
	n=$(samples "$out" ';work;round_of_work;(heavy|light);spin[ ;]')
	all=$(samples "$out" "^stack [0-9]+ $busy_name ")
	[ "$n" -gt 1000 ] && [ $((n * 100)) -gt $((all * 95)) ] &&
		[ "$(grep -c "^block .* $busy_name " "$out")" -ge 3 ]
}
sample_until known -h 499 -s 1000

all=$(samples "$out" "^stack [0-9]+ $busy_name ")
heavy=$(samples "$out" " $busy_name .*;work;round_of_work;heavy;spin[ ;]")
light=$(samples "$out" " $busy_name .*;work;round_of_work;light;spin[ ;]")
expect "the busy program is sampled" "$all samples" "$all" -gt 1000
# heavy works three times as much as light: within 6 times the error that
# counting so few samples has, sqrt(n * 3/4 * 1/4)
n=$((heavy + light)) off=$((heavy * 4 - (heavy + light) * 3))
expect "shares are right" "heavy $heavy, light $light" \
	$((off * off)) -le $((n * 3 * 36)) -a "$n" -gt 50
expect "nearly all samples are in known code" \
	"$heavy + $light of $all" $(((heavy + light) * 100)) -gt $((all * 95))
pool=$(samples "$out" "pool=worker-\\*,process=$busy_name}")
expect "threads are pooled by name" "$pool of $all" "$pool" = "$all"

want=0x$(nm "$busy" | awk '$3 == "spin" { print $1 }' | sed 's/^0*//')
got=$(grep "^frame native $busy_name .* spin$" "$out" | awk '{ print $5; exit }')
expect "a frame has its function's address" "$got, not $want" \
	"$got" = "$want"
want=$(readelf -n "$busy" | awk '/Build ID:/ { print $3 }')
got=$(grep "^frame native $busy_name " "$out" | awk '{ print $4; exit }')
expect "a frame has its file's build id" "$got, not $want" "$got" = "$want"

if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
gaps=$(awk '/^block / { if (last && $2 > last + 1) n++; last = $2 }
	END { print n + 0 }' "$out")
expect "every slot is observed" "$gaps gaps" "$gaps" = 0

# About 10 us a sample; less than 0.1 us or more than all the time that there
# was would be no measurement.
spent=$(awk '/^counter .*bpf_run_seconds_total/ { n += $(NF - 1) }
	END { printf "%d", n / 1000 }' "$out")
runs=$(awk '/^balance / { print $2 }' "$out")
most=$(awk '/^clock / { print $3 * $4 * 1000 }' "$out")
expect "the program's own time is measured" "$spent us for $runs runs" \
	"$spent" -gt $((runs / 10)) -a "$spent" -lt "$most"
