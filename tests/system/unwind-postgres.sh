#!/bin/bash
# Debian's postgres under pgbench: forked processes that share one image.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
. "$(dirname "$0")/lib/databases.sh"
start_postgres "$dir/postgres" || exit 77
load_postgres
sample_until "$dir/out" postgres -- -h 997 -s 1500
whole "postgres" "$dir/out" postgres "$from_main" 60 990
