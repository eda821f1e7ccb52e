#!/bin/bash
# The reader stands still for 5 s at a rate that fills the ring: what is lost
# is counted, to the last sample, and it is about as much as it must be.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
keep_cpus_busy
begin_driver -h 8000 -s 1000
sampling() { grep -q '^block' "$out"; }
seen sampling
need_attached "$out"
# The program's runs so far, as the kernel counts them.
runs() {
	awk '/^prog_type:/ { perf = $2 == 7 } /^run_cnt:/ && perf { n += $2 }
		END { print n + 0 }' "/proc/$driver_pid/fdinfo"/* 2>/dev/null
}
# 5 s, and until twice as many samples were taken as the ring may hold: 4 MB
# of samples of 100 bytes at least.
kill -STOP "$driver_pid"
stopped=$(date +%s%N) before=$(runs)
ring_is_full() { [ $(($(runs) - before)) -ge 84000 ]; }
sleep 5
await 60 ring_is_full
during=$(($(runs) - before))
stopped=$((($(date +%s%N) - stopped) / 1000000))
kill -CONT "$driver_pid"
lost() { awk '/^counter .*lost_total \[ring full\]/ { n += $(NF - 1) }
	END { print n + 0 }' "$out"; }
loss_is_told() { [ "$(lost)" -gt 0 ]; }
seen loss_is_told
end_driver
echo "# stood still for $stopped ms"
# The slot with the greatest loss is that of the standstill; a machine that
# gives the reader little may lose in others too.
read -r lost runs < <(awk '
	/^counter .*_runs_total / { runs[$2] = $(NF - 1) }
	/^counter .*lost_total \[ring full\]/ { lost[$2] = $(NF - 1) }
	END { for (s in lost) if (lost[s] > most) { most = lost[s]; at = s }
		print most + 0, runs[at] + 0 }' "$out")
expect "less is lost than was sampled" "$lost of $runs" "$lost" -le $((runs + 100))
expect "what was sampled while the reader stood still is lost" \
	"$lost of $during" "$lost" -ge $(((during - 42000) / 2)) -a "$lost" -gt 0
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
if counted "$out"; then ok "runs are what the kernel has counted"
else not_ok "runs are what the kernel has counted" \
	"$(grep -E '^(balance|kernel)' "$out")"; fi
