# What answers.sh and demo.sh share; sourced by them with $build, $seed and
# $dir, a new folder for the store and the logs of what they start.
fail() { echo "${0##*/}: $*" >&2; tail -n 5 "$dir"/*.log >&2; exit 1; }
until_true() {
	for _ in $(seq 1200); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	fail "waited in vain: $*"
}
listens() { grep -q " 00010000 .* $1\$" /proc/net/unix; }
import() { "$build/memlens" import "$@" 2>>"$dir/import.log" >&2 || fail import; }
export_all() {
	"$build/memlens" export "$dir/store" 0 now "$dir/export" \
		2>>"$dir/export.log" >&2 || fail export
}

# damage FILES : some bytes in the middle of some sealed files.
damage() {
	local f
	for f in $(ls "$dir"/store/*.mdb | shuf -n "$1" \
		--random-source=<(yes "$seed")); do
		printf '\377\0\377\0' | dd of="$f" conv=notrunc status=none bs=1 \
			seek=$(($(stat -c %s "$f") / 2))
	done
}

# A worker on the store, which listens at $dir/sock; its pid is $worker.
start_worker() {
	"$build/memlens-fcgi" -s "$dir/store" -l "$dir/sock" -p all \
		>"$dir/worker.log" 2>&1 &
	worker=$!
	until_true listens "$dir/sock"
}
