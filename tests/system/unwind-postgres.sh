#!/bin/bash
# Debian's postgres under pgbench: forked processes that share one image.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
. "$(dirname "$0")/lib/databases.sh"
settled_percent=97 # rows come as code is met
out=$dir/out
start_postgres "$dir/postgres" || exit 77
load_postgres
content() { sampled 1000 postgres; }
sample_until content -h 997 -s 1000
whole "postgres" "$out" postgres "$from_main" 60 990
