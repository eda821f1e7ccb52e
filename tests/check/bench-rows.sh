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

WITHOUT="x $dir/first.sh" tests/bench/run.sh "$dir" "$dir/first.sh" \
	"$dir/second.sh" >"$dir/said" 2>&1
check "a run without broken rows succeeds" $? = 0
check "what is left out is not run" "$(names)" = later
