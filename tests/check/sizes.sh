#!/bin/bash
# How long functions and files are: reported, and refused over 80 lines a
# function and 800 a file; lines of C over 80 columns are, too.  In our layout a function's braces stand in the
# first column, so no tool is needed to find its ends.
set -u
cd "$(dirname "$0")/../.." || exit 1
FUNCTION_MAX=80 FILE_MAX=800
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; echo "$2" | sed 's/^/# /'; }

files() {
	find store collector fcgi tests -name '*.[ch]' -o -name '*.cc'
	find frontend fcgi -name node_modules -prune -o -name snapshots -prune -o \
		-name '*.js' -print
}

# "LINES FILE:LINE NAME" of each function, from the line with its name.
functions() {
	awk 'FNR == 1 { start = 0 }
		/^[A-Za-z_].*\(/ && !/;$/ { at = FNR; name = $0 }
		/^\{$/ { start = at }
		/^\}/ && start {
			sub(/\(.*/, "", name)
			print FNR - start + 1, FILENAME ":" start, name
			start = 0
		}' $(files | grep -v '\.js$') | sort -n
}
all=$(functions)
n=$(echo "$all" | wc -l)
at() { echo "$all" | sed -n "$((n * $1 / 100 + 1))p" | cut -d' ' -f1; }
echo "# $n functions: median $(at 50) lines, p90 $(at 90), the longest:"
echo "$all" | tail -n 5 | sed 's/^/#   /'
if [ "$n" -gt 500 ]; then
	ok "functions are found"
else
	not_ok "functions are found" "$n"
fi
long=$(echo "$all" | awk -v max=$FUNCTION_MAX '$1 > max')
if [ -z "$long" ]; then
	ok "no function is over $FUNCTION_MAX lines"
else
	not_ok "no function is over $FUNCTION_MAX lines" "$long"
fi
long=$(files | xargs wc -l | awk -v max=$FILE_MAX '$2 != "total" && $1 > max')
if [ -z "$long" ]; then
	ok "no file is over $FILE_MAX lines"
else
	not_ok "no file is over $FILE_MAX lines" "$long"
fi
wide=$(files | grep -v '\.js$' | python3 -c '
import sys
for name in map(str.strip, sys.stdin):
    for line in open(name, errors="surrogateescape"):
        text = line.rstrip("\n").expandtabs()
        if len(text) > 80 and max(map(len, text.split())) < 60:
            print(name, text)')
if [ -z "$wide" ]; then
	ok "no line is over 80 columns, but where one word is"
else
	not_ok "no line is over 80 columns, but where one word is" "$wide"
fi
