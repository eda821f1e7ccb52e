#!/bin/bash
# Shares of CPU against what the program itself has measured, within the
# binomial error: 6 standard deviations, which one of 500 million samplings of
# a function misses by chance.  6 samples more are for the skew of small
# counts, on a machine that gives the program little.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
name=shares_$tag
own "$BUILD/system/cpu_shares" shares
"$dir/$name" 600 >"$dir/true" &
shares=$!
pids="$pids $shares"
enough() { at_least 3000 "^stack [0-9]+ $name .*;burn_[a-z]+[ ;]"; }
sample_until enough -h 997 -s 1000
kill -TERM $shares
wait $shares

for f in burn_fifty burn_thirty burn_fifteen burn_five; do
	echo "$f $(samples "$out" "^stack [0-9]+ $name .*;$f[ ;]")"
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
			may = 6 * sqrt(n * p * (1 - p)) + 6
			print (off < may && off > -may ? "ok" : "not_ok"), f \
			    ": within 6 standard deviations"
		}
	}' "$dir/true" "$dir/seen")
