#!/bin/bash
# Debian's redis-server under redis-benchmark: threads, an allocator of its
# own, nothing but exported names.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
. "$(dirname "$0")/lib/databases.sh"
start_redis "$dir/redis" || exit 77
load_redis
sample_until "$dir/out" redis-server -- -h 997 -s 1500
whole "redis" "$dir/out" redis-server "($from_main|$from_thread)" 60 990
