#!/bin/bash
# A bench that prints a broken row loses that row, not the numbers of all.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
check() { # NAME TEST...
	local name=$1
	shift
	if [ "$@" ]; then echo "ok - $name"; else
		echo "not ok - $name"
		sed 's/^/# /' "$dir/said"
	fi
}

row='"unit":"s","reference":null,"reference_value":null,"ratio":null}'
cat >"$dir/first.sh" <<END
#!/bin/sh
echo what people read
echo '{"name":"before","value":1,$row'
echo '{"name":"nothing came","value":,$row'
echo '{"name":"a text","value":"2",$row'
echo '{"name":"short","value":3,"unit":"s"}'
echo '{"name":"after","value":4.5,$row'
END
cat >"$dir/second.sh" <<END
#!/bin/sh
echo '{"name":"later","value":null,$row'
END
chmod +x "$dir"/*.sh
names() { jq -r '[.[].name] | join(" ")' "$dir/bench.json" 2>&1; }

tests/bench/run.sh "$dir" "$dir/first.sh" "$dir/second.sh" >"$dir/said" 2>&1
check "broken rows make the run fail" $? = 1
check "the other rows stay" "$(names)" = "before after later"
check "each broken row is named with its bench" \
	"$(grep -c "^$dir/first.sh: no row: {" "$dir/said")" = 3
check "the table has the numbers" "$(grep -cE '^(before|after|later) ' \
	<(tr '\t' ' ' <"$dir/said"))" = 3

SKIP="x $dir/first.sh" tests/bench/run.sh "$dir" "$dir/first.sh" \
	"$dir/second.sh" >"$dir/said" 2>&1
check "a run without broken rows succeeds" $? = 0
check "what is left out is not run" "$(names)" = later
ONLY="$dir/second.sh" tests/bench/run.sh "$dir" "$dir/first.sh" \
	"$dir/second.sh" >"$dir/said" 2>&1
check "nor is what was not asked for" "$(names)" = later

# Beside the numbers that were committed: 3 % is the most that one of ours may
# get worse, in the direction that its unit tells.
row() { # NAME VALUE UNIT
	echo "{\"name\":\"$1\",\"value\":$2,\"unit\":\"$3\",\"reference\":null,\"reference_value\":null,\"ratio\":null}"
}
for run in 100,100,100,100 102,98,104,96 104,96,96,104; do
	IFS=, read -r slow fast count ours <<<"$run"
	printf '#!/bin/sh\n' >"$dir/first.sh"
	for r in "time $slow ms" "speed $fast MB/s" "much $count samples" \
		"perf_time $ours ms"; do
		echo "echo '$(row $r)'"
	done >>"$dir/first.sh"
	WRITE=$([ "$slow" != 100 ] || echo 1) RESULTS=$dir \
		tests/bench/run.sh "$dir" "$dir/first.sh" >"$dir/said" 2>&1
	tr '\t' ' ' <"$dir/said" | grep -c WORSE >>"$dir/worse"
done
check "only what is worse is marked" "$(xargs <"$dir/worse")" = "0 0 2"
check "each with its name" "$(grep WORSE "$dir/said" | cut -d ' ' -f 1 |
	cut -f 1 | xargs)" = "time speed"
check "the committed numbers stay" \
	"$(jq -c '[.rows[].value]' "$dir/results.json")" = "[100,100,100,100]"
printf '\n## By hand\n\nwords\n' >>"$dir/RESULTS.md"
WRITE=1 RESULTS=$dir tests/bench/run.sh "$dir" "$dir/second.sh" \
	>"$dir/said" 2>&1
check "what was not run stays" "$(jq '.rows | length' "$dir/results.json")" = 5
check "and what was written by hand" "$(tail -n 1 "$dir/RESULTS.md")" = words
