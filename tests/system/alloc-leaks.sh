#!/bin/bash
# The same leak as in leaks.sh, seen by the allocator's library alone.
. "$(dirname "$0")/daemon-lib.bash"
need_root "leaks by the library"
configure 500ms 500ms
start_daemon one -s "$dir/store"
begin "$dir/fcgi.log" "$BUILD/memlens-fcgi" -s "$dir/store" -l "$dir/fcgi" -p all
oracle=$dir/leaks_library sampling=524288
cp "$BUILD/system/leaks_oracle" "$oracle"
. tests/system/lib/leaks.sh
begin_oracle - "LD_PRELOAD=$BUILD/libmemlens-alloc.so"
judge
