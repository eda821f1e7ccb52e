#!/bin/bash
# A program of known shape: its functions, their shares, who they belong to.
# What that costs is a benchmark's matter.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin "$busy" 30
"$driver" -h 499 -s 2000 -n 5 >"$out" 2>"$dir/err"
need_attached "$out"

all=$(samples "$out" '^stack [0-9]+ cpu_busy ')
heavy=$(samples "$out" ';work;round_of_work;heavy;spin[ ;]')
light=$(samples "$out" ';work;round_of_work;light;spin[ ;]')
expect "the busy program is sampled" "$all samples" "$all" -gt 100
# heavy works three times as much as light: within 6 times the error that
# counting so few samples has, sqrt(n * 3/4 * 1/4)
n=$((heavy + light)) off=$((heavy * 4 - (heavy + light) * 3))
expect "shares are right" "heavy $heavy, light $light" \
	$((off * off)) -le $((n * 3 * 36)) -a "$n" -gt 50
expect "nearly all samples are in known code" \
	"$heavy + $light of $all" $(((heavy + light) * 100)) -gt $((all * 95))
pool=$(samples "$out" 'pool=worker-\*,process=cpu_busy}')
expect "threads are pooled by name" "$pool of $all" "$pool" = "$all"

want=0x$(nm "$busy" | awk '$3 == "spin" { print $1 }' | sed 's/^0*//')
got=$(awk '/^frame native cpu_busy .* spin$/ { print $5; exit }' "$out")
expect "a frame has its function's address" "$got, not $want" \
	"$got" = "$want"
want=$(readelf -n "$busy" | awk '/Build ID:/ { print $3 }')
got=$(awk '/^frame native cpu_busy / { print $4; exit }' "$out")
expect "a frame has its file's build id" "$got, not $want" "$got" = "$want"

if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
observed=$(awk '/^block / && $3 == "cpu_busy"' "$out" | wc -l)
expect "every slot is observed" "$observed blocks" "$observed" -ge 5

# About 10 us a sample; more than 200 us would be no measurement.
spent=$(awk '/^counter .*bpf_run_seconds_total/ { n += $(NF - 1) }
	END { printf "%d", n / 1000 }' "$out")
expect "the program's own time is measured" "$spent us for $all samples" \
	"$spent" -gt "$all" -a "$spent" -lt $((all * 200 + 100000))
