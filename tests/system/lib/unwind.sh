# Common parts of the unwinder's system tests; sourced after cpu.sh.

# Where stacks begin that were walked by tables, whatever has a name there.
begun='};(_start|[^;]*0x[0-9a-f]*;[^;]*libc[^;]*;|[^;]*(clone|libc)[^;]*;[^;]*(start_thread|libc))[^;]*;'

# settled FILE SERVICE : the stacks of a service behind the first slot in which
# so many of 100 begin there: before that, its tables were made
settled_percent=80
settled() {
	grep -aF " $2 {" "$1" | awk -v s="$2" -v begun="$begun" \
		-v percent=$settled_percent '
		/^stack / && $3 == s {
			line[++n] = $0
			slot[n] = $2
			all[$2] += $NF
			if ($0 ~ begun)
				good[$2] += $NF
		}
		END {
			for (i = 1; i <= n; i++) {
				share = 100 * good[slot[i]] / all[slot[i]]
				if (first == "" && share >= percent)
					first = slot[i]
				if (first != "" && slot[i] > first)
					print line[i]
			}
		}'
}

# count FILE SERVICE PATTERN : settled samples that match
count() {
	settled "$1" "$2" | P=$3 awk '$0 ~ ENVIRON["P"] { n += $NF }
		END { print n + 0 }'
}

# sampled N SERVICE... : are so many samples of each in $out settled?
sampled() {
	local n=$1 s
	shift
	for s in "$@"; do
		[ "$(count "$out" "$s" .)" -ge "$n" ] || return
	done
}

# enough PART ALL PERMILLE : is it so many of a thousand?  4 more may be
# missing, lest a single one decides where the machine gave few.
enough() { [ $((($1 + 4) * 1000)) -ge $(($2 * $3)) ]; }

# whole NAME FILE SERVICE ROOT [SAMPLES [PERMILLE]] : nearly all stacks begin
# at ROOT, a pattern
whole() {
	local all good part=${6:-999}
	all=$(count "$2" "$3" .) good=$(count "$2" "$3" "$4")
	echo "# $1: $good of $all"
	expect "$1: sampled" "$all samples" "$all" -ge "${5:-60}"
	if enough "$good" "$all" "$part"; then
		ok "$1: $part of 1000 stacks are whole"
	else
		not_ok "$1: $part of 1000 stacks are whole" "$good of $all"
		settled "$2" "$3" | awk -v p="$4" '$0 !~ p' | head -n 3 |
			cut -c 1-300 | sed 's/^/# /'
	fi
}
