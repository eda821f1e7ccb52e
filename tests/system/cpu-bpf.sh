#!/bin/bash
# BPF programs come and go while the profiler runs, some of them to where
# another was: each sample has the name of the one that ran.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out

# load NAME : NAME_TAG runs a program of that name, known as ${known[NAME]}
declare -A known at
load() {
	own "$BUILD/system/bpf_busy" "$1"
	begin "$dir/${1}_$tag" "${1}_$tag" >"$dir/$1.said"
	await 60 eval "[ -s '$dir/$1.said' ] || ! kill -0 $last 2>/dev/null"
	read -r "at[$1]" "known[$1]" <"$dir/$1.said" || {
		echo "skip - BPF programs by name: none can be loaded"
		exit 77
	}
}
unload() { kill -KILL $last; wait $last 2>/dev/null; }

# of NAME PATTERN : samples of NAME_TAG
of() { samples "$out" "^stack [0-9]+ ${1}_$tag .*$2"; }
runs() { [ "$(of "$1" ";${known[$1]}")" -ge 30 ]; }

load before
begin_driver -s 500
seen runs before
unload
for name in first second last; do
	load $name
	seen runs $name
	unload
done
end_driver

names="before first second last"
for name in $names; do
	echo "# $name: ${at[$name]} ${known[$name]}"
	n=$(of $name ";${known[$name]}")
	expect "$name has its name" "$n" "$n" -ge 30
	wrong=$(($(of $name ";bpf_prog_[0-9a-f]+_[a-z]+_$tag") - n))
	expect "and no other" "$wrong" "$wrong" -eq 0
	none=$(of $name ';\[kernel\]')
	expect "and is never without" "$none of $n" "$none" -eq 0
done
