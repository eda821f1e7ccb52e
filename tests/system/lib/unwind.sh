# Common parts of the unwinder's system tests; sourced after cpu.sh.

# settled FILE SERVICE : the stacks of a service without those of the first
# slots, in which tables are made
settled() {
	awk -v s="$2" '/^block / && first == "" { first = $2 }
		/^stack / && $3 == s && $2 > first + 2' "$1"
}

# whole NAME FILE SERVICE ROOT [SAMPLES [PERMILLE]] : nearly all stacks begin
# at ROOT, a pattern
whole() {
	local all good part=${6:-999}
	all=$(settled "$2" "$3" | awk '{ n += $NF } END { print n + 0 }')
	good=$(settled "$2" "$3" | awk -v p="$4" '$0 ~ p { n += $NF }
		END { print n + 0 }')
	expect "$1: sampled" "$all samples" "$all" -ge "${5:-100}"
	expect "$1: $part of 1000 stacks are whole" "$good of $all" \
		$((good * 1000)) -ge $((all * part))
	[ $((good * 1000)) -ge $((all * part)) ] ||
		settled "$2" "$3" | awk -v p="$4" '$0 !~ p' | head -n 3 |
		cut -c 1-300 | sed 's/^/# /'
}
