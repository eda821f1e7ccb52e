# Common parts of the unwinder's system tests; sourced after cpu.sh.

# settled FILE SERVICE : the stacks of a service without those of its first
# slot, in which tables are made
settled() {
	awk -v s="$2" '/^stack / && $3 == s {
		if (first == "") first = $2
		if ($2 != first) print }' "$1"
}

# whole NAME FILE SERVICE ROOT : nearly all stacks begin at ROOT, a pattern
whole() {
	local all good
	all=$(settled "$2" "$3" | awk '{ n += $NF } END { print n + 0 }')
	good=$(settled "$2" "$3" | awk -v p="$4" '$0 ~ p { n += $NF }
		END { print n + 0 }')
	expect "$1: sampled" "$all samples" "$all" -ge "${5:-200}"
	expect "$1: 99.9 % of the stacks are whole" "$good of $all" \
		$((good * 1000)) -ge $((all * 999))
	[ $((good * 1000)) -ge $((all * 999)) ] ||
		settled "$2" "$3" | awk -v p="$4" '$0 !~ p' | head -n 3 |
		cut -c 1-300 | sed 's/^/# /'
}
