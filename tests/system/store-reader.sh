#!/bin/bash
# One reader that stays open while slots pass and files are sealed, merged
# and deleted: after each refresh its descriptors are of files that the
# manifest names, each once, its memory is within its bound, and nothing is
# left of it when it closes.
# LONG=1 for some thousand slots instead of some hundred.
set -u
BUILD=${BUILD:?folder of the build}
tool=$BUILD/system/store_kill
dir=$(mktemp -d)
writer= reader=
trap 'kill -9 $writer $reader 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT

ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; shift; printf '# %s\n' "$@"; }

"$tool" writer "$dir/store" "$dir/log" 0 >"$dir/writer" 2>&1 &
writer=$!
until grep -q open "$dir/writer"; do sleep 0.02; done
sleep 5 # a state in which all sizes have been seen
"$tool" reader "$dir/store" >"$dir/reader" 2>&1 &
reader=$!
sleep $((${LONG:+75 +} 15))
kill -TERM $reader
wait $reader
[ $? = 0 ] && ok "no error, no older state" ||
	not_ok "no error, no older state" "$(cat "$dir/reader")"
kill -TERM $writer
wait $writer
said=$(tail -n 1 "$dir/reader")
echo "# $said"
read -r _ reads _ files _ heap _ _ closed _ < <(tr -d , <<<"$said")
[ "${reads:-0}" -gt 20 ] && ok "reads" || not_ok "reads" "$said"
[ "${files:-0}" -gt 2 ] && ok "descriptors do not leak" ||
	not_ok "descriptors do not leak" "$said"
[ "${heap:-999999}" -le $((96 << 10)) ] && ok "memory is bounded" ||
	not_ok "memory is bounded" "$said"
# (malloc itself keeps up to some 230 KB of what was freed)
[ "${closed:-999999}" -le 512 ] && ok "memory is flat" ||
	not_ok "memory is flat" "$said"
