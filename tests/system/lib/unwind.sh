# Common parts of the unwinder's system tests; sourced after cpu.sh.

# Where stacks begin that were walked by tables, whatever has a name there.
begun='};(_start|[^;]*0x[0-9a-f]*;[^;]*libc[^;]*;|[^;]*(clone|libc)[^;]*;[^;]*(start_thread|libc))[^;]*;'

# settled FILE SERVICE : the stacks of a service behind the first slot in which
# four of five begin there: before that, its tables were made
settled() {
	awk -v s="$2" -v begun="$begun" '
		/^stack / && $3 == s {
			line[++n] = $0
			slot[n] = $2
			all[$2] += $NF
			if ($0 ~ begun)
				good[$2] += $NF
		}
		END {
			for (i = 1; i <= n; i++) {
				if (first == "" &&
				    5 * good[slot[i]] >= 4 * all[slot[i]])
					first = slot[i]
				if (first != "" && slot[i] > first)
					print line[i]
			}
		}' "$1"
}

# sampled FILE SERVICE... : at least 60 samples of each are settled
sampled() {
	local file=$1 s
	shift
	for s in "$@"; do
		[ "$(settled "$file" "$s" | awk '{ n += $NF }
			END { print n + 0 }')" -ge 60 ] || return
	done
}

# sample_until FILE SERVICE... -- DRIVER'S ARGUMENTS : samples 8 slots, and
# more where the machine gave too little time to us or to them
sample_until() {
	local file=$1 slots services=
	shift
	while [ "$1" != -- ]; do
		services="$services $1"
		shift
	done
	shift
	for slots in 8 20 40; do
		"$driver" "$@" -n "$slots" >"$file" 2>"$dir/err"
		need_attached "$file"
		sampled "$file" $services && return
	done
}

# whole NAME FILE SERVICE ROOT [SAMPLES [PERMILLE]] : nearly all stacks begin
# at ROOT, a pattern
whole() {
	local all good part=${6:-999}
	all=$(settled "$2" "$3" | awk '{ n += $NF } END { print n + 0 }')
	good=$(settled "$2" "$3" | awk -v p="$4" '$0 ~ p { n += $NF }
		END { print n + 0 }')
	expect "$1: sampled" "$all samples" "$all" -ge "${5:-60}"
	expect "$1: $part of 1000 stacks are whole" "$good of $all" \
		$((good * 1000)) -ge $((all * part))
	[ $((good * 1000)) -ge $((all * part)) ] ||
		settled "$2" "$3" | awk -v p="$4" '$0 !~ p' | head -n 3 |
		cut -c 1-300 | sed 's/^/# /'
}
