#!/bin/bash
# kill -9 of the store's writer at any moment: what was acknowledged is there
# once, readers never notice, files verify.  KILLS=1000 for the long run.
#
# A kill in the middle of a write may leave a part of a record, which nobody
# was told is there: that much may be cut off, and must be said.
set -u
BUILD=${BUILD:?folder of the build}
KILLS=${KILLS:-30}
tool=$BUILD/system/store_kill
dir=$(mktemp -d)
writer= readers=
trap 'kill -9 $writer $readers 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; shift; printf '# %s\n' "$@"; }
# verifies SAID : all problems of memlens verify are records cut off by a kill
verifies() {
	local cut problems
	cut=$(grep -c ': journal-[0-9]* was cut off$' <<<"$1")
	problems=$(sed -n 's/^verified .* \([0-9]*\) problems$/\1/p' <<<"$1")
	[ "${problems:-x}" = "$cut" ] && [ "$cut" -le "$run" ]
}
run=0
start_writer() {
	run=$((run + 1))
	"$tool" writer "$dir/store" "$dir/log" $run >"$dir/writer" 2>&1 &
	writer=$!
}
start_reader() {
	"$tool" reader "$dir/store" >"$dir/reader.$1" 2>&1 &
	readers="$readers $!"
	eval "reader$1=$!"
}

start_writer
until grep -q open "$dir/writer"; do sleep 0.02; done
for i in 1 2 3; do start_reader $i; done
wrong=0 unopened=0
for k in $(seq "$KILLS"); do
	sleep "0.$((RANDOM % 400 + 100))"
	kill -9 $writer 2>/dev/null || unopened=$((unopened + 1))
	wait $writer 2>/dev/null
	if [ $((k % 10)) = 0 ] || [ "$KILLS" -le 30 ]; then
		"$tool" check "$dir/store" "$dir/log" >"$dir/check" 2>&1 || {
			wrong=$((wrong + 1))
			cat "$dir/check"
		}
	fi
	if [ $((k % 5)) = 0 ]; then # a reader's death changes nothing
		kill -9 "$reader3" 2>/dev/null
		wait "$reader3" 2>/dev/null
		start_reader 3
	fi
	start_writer
done
# until what the crashes left is sealed and merged
sleep 3
said=$("$tool" verify "$dir/store" 2>&1)
verifies "$said" && ok "files verify beside the writer" ||
	not_ok "files verify beside the writer" "$said"
kill -TERM $writer
wait $writer
[ $? = 0 ] && ok "the last writer ends well" ||
	not_ok "the last writer ends well" "$(cat "$dir/writer")"
said=$("$tool" check "$dir/store" "$dir/log" 2>&1) || wrong=$((wrong + 1))
[ $wrong = 0 ] && ok "acknowledged batches are there once after $KILLS kills" ||
	not_ok "acknowledged batches are there once" "$said"
[ $unopened = 0 ] && ok "each writer opened the store" ||
	not_ok "each writer opened the store" "$unopened did not"
echo "# $said"
said=$("$tool" verify "$dir/store" 2>&1)
cut=$(grep -c 'was cut off$' <<<"$said")
verifies "$said" && ok "files verify when all is closed" ||
	not_ok "files verify when all is closed" "$said"
echo "# $said"
for i in 1 2 3; do
	eval "pid=\$reader$i"
	kill -TERM "$pid" 2>/dev/null
	wait "$pid"
	[ $? = 0 ] && ok "reader $i never saw an error or an older state" ||
		not_ok "reader $i" "$(cat "$dir/reader.$i")"
	damaged=$(sed -n 's/.* damaged //p' "$dir/reader.$i")
	[ "${damaged:-x}" -le "$cut" ] && ok "reader $i knew of no other damage" ||
		not_ok "reader $i knew of no other damage" "$damaged, $cut cut off"
	echo "# $(tail -n 1 "$dir/reader.$i")"
done
# one that has read all the time; that each descriptor was of a file that the
# manifest named, and once, it has looked after by itself
read -r _ _ _ files _ heap _ _ closed _ < <(tail -n 1 "$dir/reader.1" | tr -d ,)
[ "${files:-0}" -gt 0 ] && ok "descriptors are of files of the store" ||
	not_ok "descriptors are of files of the store" "$(cat "$dir/reader.1")"
# the reader's cache is bounded at 64 MB; what a query needs comes and goes
[ "${heap:-999999}" -le $((96 << 10)) ] && ok "memory stays bounded" ||
	not_ok "memory stays bounded" "$heap KB"
# (malloc itself keeps up to some 230 KB of what was freed)
[ "${closed:-999999}" -le 512 ] && ok "what was read leaves no memory behind" ||
	not_ok "what was read leaves no memory behind" "$closed KB"
