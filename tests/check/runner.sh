#!/bin/bash
# The runner: what fails beside others and passes alone is told as flaky; what
# fails twice has failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ok() { echo "ok - $1"; }
not_ok() { echo "not ok - $1"; sed 's/^/# /' "$dir/out"; }
expect() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1"; fi; }

mkdir -p "$dir/tests/api" "$dir/build"
cp tests/run "$dir/tests/run"
cat >"$dir/tests/api/second.sh" <<'END'
[ -e "$BUILD/once" ] && echo "ok - now" && exit
touch "$BUILD/once"
echo "not ok - the first time"
END
echo 'echo "ok - always"' >"$dir/tests/api/always.sh"
"$dir/tests/run" "$dir/build" api >"$dir/out" 2>&1
expect "what passes the second time is flaky" \
	"$? $(grep flaky "$dir/out")" "0 1 flaky: api/second.sh"
expect "the last line counts it once" "$(tail -n 1 "$dir/out")" \
	"2 passed, 0 failed, 0 skipped"
echo 'echo "not ok - ever"' >"$dir/tests/api/never.sh"
"$dir/tests/run" "$dir/build" api >"$dir/out" 2>&1
expect "what fails twice has failed" "$? $(tail -n 1 "$dir/out")" \
	"1 2 passed, 1 failed, 0 skipped"
expect "and is not called flaky" "$(grep -c flaky "$dir/out")" 0
expect "the end of the log names it, and why" "$(tail -n 3 "$dir/out")" \
	"FAILED api/never.sh:
  not ok - ever
2 passed, 1 failed, 0 skipped"
# What a test leaves behind has ended before another one begins.
cat >"$dir/tests/api/never.sh" <<'END'
sleep 1000 &
echo $! >"$BUILD/left"
echo "ok - left"
END
"$dir/tests/run" "$dir/build" api/never.sh >"$dir/out" 2>&1
read -r left <"$dir/build/left"
gone() { ! grep -qs '^State:.[^ZX]' "/proc/$left/status"; }
for _ in $(seq 600); do gone && break || sleep 0.1; done
expect "what a test has left behind is ended" "$(gone && echo gone)" gone
gone || kill "$left"
"$dir/tests/run" >"$dir/out" 2>&1
expect "without a build nothing is run" "$? $(grep -c passed "$dir/out")" "2 0"
