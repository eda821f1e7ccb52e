#!/bin/bash
# Our host metrics beside node_exporter's: the same names and labels, and
# every counter that it reports lies between our readings around that moment.
. "$(dirname "$0")/daemon-lib.bash"
command -v prometheus-node-exporter >/dev/null ||
	{ echo "skip - node_exporter is not installed"; exit 77; }
configure 1s 1s
port=18930
begin "$dir/exporter.log" prometheus-node-exporter \
	--web.listen-address=127.0.0.1:$port --web.disable-exporter-metrics
exporter=$last
start_daemon d -s "$dir/store" -w "$dir/rec"
d=$last
await 10 curl -sf "http://127.0.0.1:$port/metrics" -o "$dir/warm" ||
	not_ok "node_exporter answers" "$(tail -n 3 "$dir/exporter.log")"
sleep 2
for n in 1 2 3; do
	sleep 1.3
	date +%s.%N >"$dir/at$n"
	curl -sf "http://127.0.0.1:$port/metrics" -o "$dir/page$n"
	date +%s.%N >>"$dir/at$n"
	dd if=/dev/zero of="$dir/work" bs=1M count=20 conv=fsync 2>/dev/null
done
sleep 3
end "$d"
end "$exporter"
python3 tests/system/procfs-compare.py "$dir"
