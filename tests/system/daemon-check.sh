#!/bin/bash
# memlensd -n, -h, -V and wrong options.
. "$(dirname "$0")/daemon-lib.bash"
d=$BUILD/memlensd

check() { # NAME CONFIGURATION STATUS PATTERN
	local got
	printf "$2" >"$dir/conf"
	got=$("$d" -n -f "$dir/conf" 2>&1)
	expect "$1: status" $? "$3"
	expect_text "$1: message" "$got" "$4"
}
check "an empty file" "" 0 "^configuration OK$"
check "an unknown key" "[cpu]\nsamplerate = 9\n" 1 \
	"^memlensd: $dir/conf:2: unknown key \"samplerate\" in \[cpu\]$"
check "a rate out of range" "\n\n[cpu]\nrate = 0\n" 1 "conf:4: rate: "
check "a bad pattern" "[service x]\n\ncomm = [\n" 1 "conf:3: comm: "
check "not INI" "[cpu]\nenabled\n" 1 "conf:2: "

got=$("$d" -n -f "$dir/nothing" 2>&1)
expect "a missing file: status" $? 1
expect_text "a missing file: message" "$got" "nothing: No such file"
"$d" --help >"$dir/out" 2>"$dir/err"
expect "--help: status" $? 0
expect_true "--help: to stdout, at most 24 lines" \
	[ "$(wc -l <"$dir/out")" -le 24 -a ! -s "$dir/err" ]
expect "--version" "$("$d" --version)" "memlensd 0.1.0"
"$d" --wrong >"$dir/out" 2>"$dir/err"
expect "a wrong option: status" $? 2
expect_true "a wrong option: to stderr" [ -s "$dir/err" -a ! -s "$dir/out" ]
"$d" -n surplus >/dev/null 2>&1
expect "an argument too many: status" $? 2
