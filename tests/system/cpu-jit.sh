#!/bin/bash
# JavaScript under node, which writes a map of the machine code that it makes:
# functions have their names, also those that are made later.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
node=$(command -v node) || { echo "skip - no node"; exit 77; }

# The second function is made when the first one has run for a while, and
# called by a name that no optimiser can know before.
cat >"$dir/hot.js" <<'END'
'use strict';
function early_function(n) {
	let s = 0;
	for (let i = 0; i < n; i++)
		s += i * i % 7;
	return s;
}
const fs = require('fs');
let x = 0, late = early_function;
const began = Date.now();
while (Date.now() - began < 600000) {
	if (late === early_function && fs.existsSync(process.argv[2]))
		late = new Function('n', `return (function late_function(n) {
			let s = 0;
			for (let i = 0; i < n; i++) s += i % 5 * i;
			return s; })(n)`);
	for (let i = 0; i < 50; i++)
		x += late(20000) & 1;
}
console.log(x);
END
own "$node" node
begin "$dir/node_$tag" --perf-basic-prof --no-turbo-inlining \
	--no-logfile-per-isolate --logfile="$dir/v8.log" "$dir/hot.js" "$dir/go" >/dev/null
node_pid=$last
before_end() { rm -f "/tmp/perf-$node_pid.map"; }
# V8 10, of node 18, says LazyCompile where later ones say JS.
early="process=node_$tag[^;]*;.*;(JS|LazyCompile):[^;]*early_function"
late="process=node_$tag[^;]*;.*;(JS|LazyCompile):[^;]*late_function"
# In the seconds before the map is read again.
nameless="process=node_$tag[^}]*[}].*;.anonymous code."
early_is_named() { at_least 10 "$early"; }
late_is_named() {
	at_least 10 "$late" && [ $(($(samples "$out" "$nameless") * 2)) -lt \
		$(($(samples "$out" "$early") + $(samples "$out" "$late"))) ]
}
begin_driver -s 1000
seen early_is_named
touch "$dir/go"
seen late_is_named
end_driver
early=$(samples "$out" "$early") late=$(samples "$out" "$late")
expect "a JIT's function has its name" "$early samples" "$early" -ge 10
expect "so has one that was made later" "$late samples" "$late" -ge 10
# Module and build id are empty.
frames=$(awk '/^frame jit / { n++; bad += !/^frame jit   0x0 [A-Z][A-Za-z]*:/ }
	END { print n + 0, bad + 0 }' "$out")
expect "frames of their own kind, without addresses" "$frames" \
	"${frames% *}" -ge 2 -a "${frames#* }" = 0
nameless=$(samples "$out" "$nameless")
named=$((early + late))
expect "few are without a name" "$nameless beside $named" \
	$((nameless * 2)) -lt "$named"
