#!/bin/bash
# Debian's postgres under pgbench: forked processes that share one image.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
. "$(dirname "$0")/lib/databases.sh"
start_postgres "$dir/postgres" || exit 77
load_postgres
sample_database "$dir/out"
whole "postgres" "$dir/out" postgres "$from_main" 500
