#!/bin/bash
# A full file system: the store says so, keeps what it has, and goes on by
# itself when there is room again; with and without a reserve.
set -u
BUILD=${BUILD:?folder of the build}
tool=$BUILD/system/store_kill
dir=$(mktemp -d)
writer=
trap 'kill -9 $writer 2>/dev/null; wait 2>/dev/null; umount "$dir" 2>/dev/null
	rm -rf "$dir" "$dir.log" "$dir.out"' EXIT

ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; shift; printf '# %s\n' "$@"; }
acknowledged() { grep -c '^a ' "$dir.log"; }

mount -t tmpfs -o size=3m none "$dir" 2>/dev/null || {
	echo "skip - full file system: tmpfs cannot be mounted here"
	exit 77
}
# until COMMAND... : up to 120 s
until_true() {
	local end=$((SECONDS + 120))
	until "$@"; do
		((SECONDS < end)) || return
		sleep 0.1
	done
}
said_full() { grep -q '^s 1 ' "$dir.log"; }
more_than() { [ "$(acknowledged)" -gt "$1" ]; }

full() { # NAME RESERVE LEAVE
	local name=$1 reserve=$2 leave=$3 before
	rm -rf "$dir"/* "$dir.log"
	: >"$dir.log"
	"$tool" writer "$dir/store" "$dir.log" 1 "$reserve" >"$dir.out" 2>&1 &
	writer=$!
	until_true more_than 20
	said=$("$tool" check "$dir/store" "$dir.log" 300 2>&1) &&
		ok "$name: a check beside a writer allows what came meanwhile" ||
		not_ok "$name: a check beside a writer allows what came meanwhile" \
			"$said"
	# the ballast leaves so many KB
	head -c $(($(df --output=avail -k "$dir" | tail -n 1) * 1024 -
		leave * 1024)) /dev/zero >"$dir/ballast"
	until_true said_full && ok "$name: the state is 'disk full'" ||
		not_ok "$name: the state is 'disk full'" "$(tail -n 1 "$dir.log")"
	sleep 1
	said=$("$tool" check "$dir/store" "$dir.log" 2>&1) &&
		ok "$name: what was acknowledged is there" ||
		not_ok "$name: what was acknowledged is there" "$said"
	before=$(acknowledged)
	rm "$dir/ballast"
	until_true more_than $((before + 150)) &&
		ok "$name: goes on by itself" ||
		not_ok "$name: goes on by itself" "$(tail -n 1 "$dir.log")"
	sleep 2
	said=$("$tool" check "$dir/store" "$dir.log" 2>&1) &&
		ok "$name: nothing counts twice" ||
		not_ok "$name: nothing counts twice" "$said"
	kill -TERM $writer
	wait $writer && ok "$name: ends well" ||
		not_ok "$name: ends well" "$(cat "$dir.out")"
	said=$("$tool" verify "$dir/store" 2>&1) && ok "$name: verifies" ||
		not_ok "$name: verifies" "$said"
	echo "# $(grep '^s ' "$dir.log" | sed 's/^s [0-9]* //' | sort |
		uniq -c | sort -rn | head -n 3 | tr '\n' ';')"
}
full "with a reserve" 1000000 1200
full "without a reserve" 0 60
