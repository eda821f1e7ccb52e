#!/bin/bash
# Mixed questions to one pool of two workers, over kept connections, while a
# daemon appends, seals and merges ten slots a second: is the memory of each
# worker flat, is each question answered?
#
#	questions.sh BUILD [QUESTIONS [SEED]]
#
# Pictures, tables, diffs, files to save, series, lists: 5,000 different ones
# and more as time goes on, six clients.  Memory is looked at ten times; the
# first fifth of the questions, in which caches fill, is left out.
# 20,000 by default, some minutes of a busy machine; 100,000 tell a leak of 50
# bytes a question.
#
# CACHE=8MiB  of the pool.  Answers of a store that grows fill the cache for
# long: with 2MiB it is full at once, and what still grows is no cache.
# GROW=        no daemon: the store stays as it is.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
questions=${2:-20000} seed=${3:-$RANDOM} port=${PORT:-21792}
. tests/bench/lib.sh
dir=$(mktemp -d)
trap end_all EXIT
trap 'exit 1' INT TERM
mkdir -p "$dir"/{nginx,sockets,log,www}

cat >"$dir/conf" <<END
[store]
directory = $dir/store
[cpu]
enabled = no
[procfs]
enabled = no
[socket]
path = $dir/memlensd.sock
group =
END
begin python3 tests/bench/questions.py feed "$BUILD/memlens" "$dir" "$seed" \
	6000
for _ in $(seq 1200); do
	first=$(sed -n 's/^first //p' "$dir/log/out") && [ -n "$first" ] &&
		break
	sleep 0.1
done
[ -z "${GROW-yes}" ] || begin "$BUILD/memlensd" -f "$dir/conf"
printf '[worker]\ncache = %s\n' "${CACHE:-8MiB}" >"$dir/worker"
begin_worker -j 2 -c "$dir/worker" || exit 1

echo "questions: seed $seed"
python3 tests/bench/questions.py ask "$port" "$questions" "$seed" "$first" \
	"$worker" | tee "$dir/said" | grep --line-buffered '^#'
read -r _ asked distinct found failed < <(grep ^questions "$dir/said") ||
	{ tail "$dir/log/out"; exit 1; }
! grep '^fed nothing' "$dir/log/out" || failed=$((failed + 1))
n=0
while read -r _ pid resident private; do
	n=$((n + 1))
	read -r _ _ last_resident last_private < <(grep "^last $pid " \
		"$dir/said")
	row "questions, worker $n, resident at the end" "$last_resident" kB \
		"after a fifth" "$resident"
	row "questions, worker $n, private at the end" "$last_private" kB \
		"after a fifth" "$private"
done < <(grep ^settled "$dir/said")
row "questions, asked" "$asked" requests distinct "$distinct"
row "questions, found of them" "$found" requests
row "questions, failed of them" "$failed" requests goal 0
[ "$failed" = 0 ]
