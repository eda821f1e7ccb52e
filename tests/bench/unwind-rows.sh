#!/bin/bash
# The tables of unwind rows of every ELF file of the machine, against libdw:
# row by row, in both directions.  Fails on a difference.
#
#   unwind-rows.sh BUILD [FOLDER...]
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?folder of the build}" && pwd)
shift
[ $# -gt 0 ] || set -- /usr/lib /usr/bin /usr/sbin
# What is no ELF file for this machine is passed over by the program.
said=$(find "$@" -xdev -type f -size +200c | "$build/bench/ehframe_libdw")
status=$?
echo "$said"
. tests/bench/lib.sh
# "N files (N without ..., N not read), N functions, N rows (...), N ms"
# "N comparisons, N different, N refused by libdw"
count() { # NAME UNIT WORD
	row "unwind_rows_$1" "$(grep -oE "[0-9]+ $3" <<<"$said" | tail -n 1 |
		cut -d ' ' -f 1)" "$2"
}
count files files 'files'
count rows rows 'rows'
count build_ms ms 'ms'
count compared comparisons 'comparisons'
count different differences 'different'
exit $status
