#!/bin/bash
# Our host metrics beside node_exporter's: the same names and labels, and
# every counter that it reports lies between our readings around that moment.
. "$(dirname "$0")/daemon-lib.bash"
command -v prometheus-node-exporter >/dev/null ||
	{ echo "skip - node_exporter is not installed"; exit 77; }
configure 1s 1s
. tests/live/port.sh
free_port port
begin "$dir/exporter.log" prometheus-node-exporter \
	--web.listen-address=127.0.0.1:$port --web.disable-exporter-metrics
exporter=$last
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
await 120 curl -sf "http://127.0.0.1:$port/metrics" -o "$dir/warm" ||
	not_ok "node_exporter answers" "$(tail -n 3 "$dir/exporter.log")"
await 120 slots_are 3 "$dir/rec"
for n in 1 2 3 4 5; do
	sleep 0.7
	date +%s.%N >"$dir/at$n"
	curl -sf "http://127.0.0.1:$port/metrics" -o "$dir/page$n"
	date +%s.%N >>"$dir/at$n"
	dd if=/dev/zero of="$dir/work" bs=1M count=20 conv=fsync 2>/dev/null
done
# slots behind the last page
until=$(($(date +%s) + 2))
behind() { [ "$(slots "$dir/rec" | tail -n 1)" -gt "$until" ]; }
await 120 behind
end "$d"
end "$exporter"
python3 tests/system/procfs-compare.py "$dir"
