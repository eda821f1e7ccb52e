#!/bin/bash
# A leak beside a cache that fills and stays, and a burst: the leak is found
# alone, and the end of the control group's memory is when it comes.
. "$(dirname "$0")/daemon-lib.bash"
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -n 1)
[ -n "$jemalloc" ] || { echo "skip - leaks: no jemalloc"; exit 77; }
. tests/live/port.sh
free_port port
configure 500ms 500ms
mkdir "$dir/www"
begin "$dir/endpoints.log" python3 tests/system/lib/heap_endpoints.py "$port" "$dir/www"
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
cat >"$dir/scrape.conf" <<END
[scrape]
socket = $dir/sock
slot = 500ms
[target leaks_oracle]
profile = http://127.0.0.1:$port/now.heap
profile-interval = 500ms
END
begin "$dir/scrape.log" "$BUILD/memlens-scrape" -f "$dir/scrape.conf"

sampling=65536 # 2^16
. tests/system/lib/leaks.sh
begin_oracle "$dir/www/now.heap" "LD_PRELOAD=$jemalloc" \
	MALLOC_CONF=prof:true,lg_prof_sample:16,background_thread:false
judge
