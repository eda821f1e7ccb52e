#!/bin/bash
# The reader stands still for 5 s at a rate that fills the ring: what is lost
# is counted, to the last sample, and it is about as much as it must be.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
begin "$busy" 60
begin bash -c 'exec "$0" -h 8000 -s 1000 -n 10 >"$1" 2>"$2"' "$driver" \
	"$out" "$dir/err"
for _ in $(seq 100); do grep -q '^block' "$out" && break; sleep 0.1; done
need_attached "$out"
kill -STOP "$last"
stopped=$(date +%s%N)
sleep 5
stopped=$((($(date +%s%N) - stopped) / 1000000))
kill -CONT "$last"
wait "$last"
# The slot with the greatest loss is that of the standstill; a machine that
# gives the reader little may lose in others too.
read -r lost runs < <(awk '
	/^counter .*_runs_total / { runs[$2] = $(NF - 1) }
	/^counter .*lost_total \[ring full\]/ { lost[$2] = $(NF - 1) }
	END { for (s in lost) if (lost[s] > most) { most = lost[s]; at = s }
		print most + 0, runs[at] + 0 }' "$out")
# The runs meanwhile, were they spread evenly over the whole time; the ring
# holds 4 MB of samples of 100 bytes at least.
during=$(awk -v ms="$stopped" '/^kernel / { n = $2 } /^clock / { t = $4 }
	END { printf "%d", n * ms / t }' "$out")
expect "less is lost than was sampled" "$lost of $runs" "$lost" -le $((runs + 100))
expect "what was sampled while the reader stood still is lost" \
	"$lost of $during" "$lost" -ge $(((during - 42000) / 2)) -a "$lost" -gt 0
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
if counted "$out"; then ok "runs are what the kernel has counted"
else not_ok "runs are what the kernel has counted" \
	"$(grep -E '^(balance|kernel)' "$out")"; fi
