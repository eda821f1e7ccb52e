#!/bin/bash
# Shares of CPU against what the program itself has measured, within the
# binomial error: 4 standard deviations, which one of 15,800 samplings of one
# function misses by chance, so about one run in 3,900 of these four.  4
# samples more are for the skew of small counts, on a machine that gives the
# program little.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
"$BUILD/system/cpu_shares" 60 >"$dir/true" &
shares=$!
pids="$pids $shares"
"$driver" -h 997 -s 1000 -n 8 >"$out" 2>"$dir/err"
need_attached "$out"
kill -TERM $shares
wait $shares

for f in burn_fifty burn_thirty burn_fifteen burn_five; do
	echo "$f $(samples "$out" "^stack [0-9]+ cpu_shares .*;$f[ ;]")"
done >"$dir/seen"
all=$(awk '{ n += $2 } END { print n }' "$dir/seen")
expect "sampled" "$all samples" "$all" -ge 60
while read -r said; do
	case $said in
	ok*) ok "${said#ok }" ;;
	*) not_ok "${said#not_ok }" "$(paste "$dir/true" "$dir/seen")" ;;
	esac
done < <(awk '
	NR == FNR { burnt[$1] = $2; total += $2; next }
	{ seen[$1] = $2; n += $2 }
	END {
		for (f in burnt) {
			p = burnt[f] / total
			off = seen[f] - n * p
			may = 4 * sqrt(n * p * (1 - p)) + 4
			print (off < may && off > -may ? "ok" : "not_ok"), f \
			    ": within 4 standard deviations"
		}
	}' "$dir/true" "$dir/seen")
