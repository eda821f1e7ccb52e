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
# What is seen until the test is content is what it judges: it stops as soon
# as the named are twice the nameless, and of a program that has hardly any
# CPU, one sample more that has no name yet would turn that round.
look() {
	n_early=$(samples "$out" "$early") n_late=$(samples "$out" "$late")
	n_nameless=$(samples "$out" "$nameless")
}
late_is_named() {
	look
	[ "$n_late" -ge 10 ] && [ $((n_nameless * 2)) -lt $((n_early + n_late)) ]
}
begin_driver -s 1000
seen early_is_named
touch "$dir/go"
look
seen late_is_named
end_driver
expect "a JIT's function has its name" "$n_early samples" "$n_early" -ge 10
expect "so has one that was made later" "$n_late samples" "$n_late" -ge 10
# Module and build id are empty.  Another program of the machine may make code.
frames=$(awk '/^frame jit .*(early|late)_function/ {
	n++; bad += !/^frame jit   0x0 [A-Z][A-Za-z]*:/ }
	END { print n + 0, bad + 0 }' "$out")
expect "frames of their own kind, without addresses" "$frames" \
	"${frames% *}" -ge 2 -a "${frames#* }" = 0
expect "few are without a name" "$n_nameless beside $((n_early + n_late))" \
	$((n_nameless * 2)) -lt $((n_early + n_late))
