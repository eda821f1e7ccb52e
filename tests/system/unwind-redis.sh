#!/bin/bash
# Debian's redis-server under redis-benchmark: threads, an allocator of its
# own, nothing but exported names.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
. "$(dirname "$0")/lib/databases.sh"
settled_percent=97 # rows come as code is met
out=$dir/out name=redis_$tag
own "$(command -v redis-server)" redis
start_redis "$dir/redis" "$dir/$name" || exit 77
load_redis
content() { sampled 1000 $name; }
sample_until content -h 997 -s 1000
whole "redis" "$out" $name "($from_main|$from_thread)" 60 990
