#!/bin/bash
# The store on the reference workload of profiles.py: a day as the daemon
# writes it, a month by bulk import, a thousand metrics beside Prometheus, a
# recorded real service, ten minutes of random operations with faults.
#
#	store.sh BUILD
#
# SLOTS=8640    slots written one by one
# BULK=259200   slots written by import, 64 at a time; YEAR=1: 3,153,600
# TIMES=300     queries of each kind
# RECORD=670    seconds of the real service (64 whole slots at least); 0: none
# RECORDING=    a recording of it that exists already
# MODEL=500     seconds of the random model; 0: none
# SEED=         of the random model; otherwise from the clock
# PARTS=        some of: reference shapes seal day long metrics model real
#
# A line of JSON for each number, with what it is compared to: `goal` is our
# own, other references are measured here or said where they were measured.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?folder of the build}" && pwd)
slots=${SLOTS:-8640}
bulk=${BULK:-259200}
[ "${YEAR:-0}" = 0 ] || bulk=3153600
times=${TIMES:-300}
bench=$build/bench
dir=$(mktemp -d -p "$build")
jobs=()
cleanup() {
	[ ${#jobs[@]} = 0 ] || kill "${jobs[@]}" 2>/dev/null || true
	wait
	rm -rf "$dir"
}
trap cleanup EXIT
failed=0
say() { echo "store: $*"; }

# PREFIX FILE...: the numbers of a part, renamed where it is run twice.
numbers() {
	local prefix=$1
	shift
	sed "s/^store_/$prefix/" "$@" >>"$dir/numbers"
}

reference() {
	say "the workload as text and as pprof, 300 slots"
	"$bench/store_text" "$dir/population" 300 >>"$dir/numbers"
}

# SHAPE SLOTS TEXT: a population that is not the reference's (workload.h), by
# bytes a slot of its largest span; TEXT slots of it as pprof.
shape() {
	local at=$dir/$1
	say "the population \"$1\", $2 slots"
	export SHAPE=$1
	"$bench/store_text" "$dir/population" "$3" >"$at.part"
	numbers "store_$1_" "$at.part"
	"$bench/store_bench" write "$at" "$dir/population" "$2" >"$at.part"
	sed -i '/_append_longest /d; /_bytes/d' "$at.part"
	numbers "store_$1_" "$at.part"
	unset SHAPE
	find "$at" -name 'span-*' -printf '%s %f\n' | sort -t- -k2nr |
		awk -F'[ -]' -v name="store_$1_span_bytes" '
		NR == 1 { printf "%s %.0f B/slot\n", name, $1 / 4 ^ $3 }' \
		>>"$dir/numbers"
	rm -rf "$at"
}

# Many stacks are written as far as a span of 256 slots: a full one takes
# half an hour.
shapes() {
	shape deep 4160 60
	shape many 320 4
}

# Names of 20,000 functions, then five of its own for each stack, then calls
# at random.
seal() {
	say "a journal of 200,000 different stacks, sealed"
	"$bench/store_seal" fill "$dir/seal" 200000 20000
	"$bench/store_seal" seal "$dir/seal" >>"$dir/numbers"
	"$bench/store_seal" fill "$dir/seal-names" 200000 0
	"$bench/store_seal" seal "$dir/seal-names" >"$dir/part"
	numbers store_names_ "$dir/part"
	"$bench/store_seal" fill "$dir/seal-deep" 200000 3000 random
	"$bench/store_seal" seal "$dir/seal-deep" >"$dir/part"
	numbers store_deep_ "$dir/part"
	rm -rf "$dir/seal" "$dir/seal-names" "$dir/seal-deep"
}

day() {
	say "$slots slots in full, one by one"
	"$bench/store_bench" write "$dir/day" "$dir/population" "$slots" \
		>>"$dir/numbers"
	full=$(find "$dir/day" -name 'span-6-*' -printf '%s\n' | head -n 1)
	[ -z "$full" ] ||
		echo "store_full_span_bytes $((full / 4096)) B/slot" \
			>>"$dir/numbers"
	say "its queries"
	"$bench/store_ask" "$dir/day" "$times" >"$dir/part" || failed=1
	numbers store_day_ "$dir/part"
	"$bench/store_bench" write "$dir/threaded" "$dir/population" 2000 \
		threaded >>"$dir/numbers"
	say "$slots slots, eight waiting at a time"
	"$bench/store_bench" write "$dir/queued" "$dir/population" "$slots" \
		queued >>"$dir/numbers"
	rm -rf "$dir/threaded" "$dir/queued" "$dir/day"
}

# The month, and what a year would be by its slope; or the year.
long() {
	say "$bulk slots by bulk import" \
		"($(awk "BEGIN { printf \"%.1f days\", $bulk / 8640 }"))"
	"$bench/store_bench" write "$dir/long" "$dir/population" "$bulk" bulk \
		>"$dir/bulk"
	cat "$dir/bulk" >>"$dir/numbers"
	[ "$bulk" = 3153600 ] || awk -v slots="$bulk" '
	$1 == "store_bulk_cpu_first_tenth" { first = $2 }
	$1 == "store_bulk_cpu_last_tenth" { last = $2 }
	$1 == "store_bulk_wall" { wall = $2 }
	END {
		slope = (last - first) / (slots * 0.9)
		end = last + slope * (3153600 - slots)
		printf "store: a year was NOT run (YEAR=1 runs it, some %d " \
		    "minutes); the slope of %d slots, from %.3f to %.3f s " \
		    "of CPU for 1,000, drawn out: %.2f s for its last " \
		    "1,000\n", wall / slots * 3153600 / 60, slots, first, \
		    last, end
	}' "$dir/bulk"
	say "its queries"
	"$bench/store_ask" "$dir/long" "$times" >"$dir/part" || failed=1
	numbers store_long_ "$dir/part"
	"$build/memlens" verify "$dir/long" >"$dir/verified" || {
		say "verify: $(tail -n 1 "$dir/verified")"
		failed=1
	}
	rm -rf "$dir/long"
}

metrics() {
	say "1,000 metrics, 8,640 slots, and the same values in Prometheus"
	"$bench/store_bench" metrics "$dir/metrics" 8640 "$dir/metrics.txt" \
		>>"$dir/numbers"
	if ! command -v promtool >/dev/null; then
		say "Prometheus: skipped, promtool is not installed (package prometheus)"
		return
	fi
	promtool tsdb create-blocks-from --max-block-duration=48h openmetrics \
		"$dir/metrics.txt" "$dir/prometheus" >/dev/null
	echo "store_metric_prometheus $(find "$dir/prometheus" -type f \
		-printf '%s\n' | awk '{ n += $1 } END { printf "%.2f", n / 8640000 }'
	) B/series and slot" >>"$dir/numbers"
	rm -rf "$dir/metrics" "$dir/metrics.txt" "$dir/prometheus"
}

# A real service, recorded now or before, replayed into a store.
real() {
	local file=${RECORDING:-$dir/recording}
	[ -n "${RECORDING:-}" ] || wait "$recorder" || {
		say "a real recording: skipped, $(tail -n 1 "$dir/recorder")"
		return
	}
	printf '[socket]\npath =\n' >"$dir/replay.conf"
	"$build/memlensd" -f "$dir/replay.conf" -s "$dir/real" -r "$file" \
		2>"$dir/replay.log" || {
		say "a real recording: $(tail -n 1 "$dir/replay.log")"
		return 1
	}
	awk -v recorded="$(stat -c %s "$file")" '
	$1 == "span" { bytes += $7; slots += $6 - $5 }
	$1 == "late" { bytes += $7 }
	END {
		if (slots == 0) exit
		printf "store_real_slots %d slots\n", slots
		printf "store_real_bytes %.0f B/slot\n", bytes / slots
		printf "store_real_batches %.0f B/slot\n", recorded / slots
	}' "$dir/real/manifest" >>"$dir/numbers"
	"$build/memlens" stat "$dir/real" | awk '
	$1 == "slots" { slots = $2 }
	/cpu\{service="kvservice"\}/ {
		printf "store_real_service_bytes %.0f B/slot\n", $1 / slots
	}' >>"$dir/numbers"
}

model() {
	local seed=${SEED:-$(($(date +%s) % 1000000))}
	say "random operations with faults for $MODEL s, seed $seed"
	SEED=$seed SECONDS_LONG=$MODEL "$build/unit/test_store_random" \
		>"$dir/model" || {
		cat "$dir/model"
		say "the random model, seed $seed: FAILED"
		return 1
	}
	sed -n 's/^# operations \([0-9]*\).*/store_model_operations \1 operations/p;
		s/^# faults \([0-9]*\).*/store_model_faults \1 faults/p;
		s/^# crashes \([0-9]*\).*/store_model_crashes \1 crashes/p' \
		"$dir/model" >>"$dir/numbers"
}

# name|reference|value of the reference
references='
store_deep_span_bytes|gzip pprof|@store_deep_pprof_gzip
store_many_span_bytes|gzip pprof|@store_many_pprof_gzip
store_seal_rss|goal|64
store_names_seal_rss|goal|64
store_deep_seal_rss|goal|64
store_write_cpu|goal|0.4
store_queue_cpu|goal|0.4
store_queue_rss|goal|64
store_write_bytes|goal|1024
store_write_bytes_worst|folded text|@store_text_folded
store_write_rss|goal|64
store_bulk_cpu|goal|0.4
store_bulk_bytes|goal|1024
store_bulk_bytes_worst|gzip pprof|@store_pprof_gzip
store_bulk_rss|goal|64
store_bulk_cpu_growth|flat|1
store_full_span_bytes|gzip pprof|@store_pprof_gzip
store_metric_bytes|goal|4
store_metric_prometheus|ours, every level|@store_metric_bytes
store_day_query_random_json_p99|goal|10
store_day_query_random_json_p50|Pyroscope 0.37.2 uncut, measured once|1278
store_long_query_1y_cut_p99|goal|50
store_long_query_random_cut_p99|goal|50
store_real_bytes|its batches|@store_real_batches
'
for q in 10s 1h 1d 30d 1y; do
	for of in day long; do
		references+="store_${of}_query_${q}_json_p50|all leaves|@store_${of}_query_${q}_naive
"
	done
done

# Prints the numbers as JSON.
finish() {
	awk -v references="$references" '
	BEGIN {
		n = split(references, lines, "\n")
		for (i = 1; i <= n; i++) {
			split(lines[i], f, "|")
			what[f[1]] = f[2]
			value[f[1]] = f[3]
		}
	}
	{
		name[NR] = $1; got[$1] = $2
		unit[NR] = $0; sub(/^[^ ]+ [^ ]+ /, "", unit[NR])
	}
	END {
		for (i = 1; i <= NR; i++) {
			k = name[i]
			v = value[k]
			if (v ~ /^@/) v = got[substr(v, 2)]
			printf "{\"name\":\"%s\",\"value\":%s,\"unit\":\"%s\"", \
			    k, got[k], unit[i]
			if (k in what && v > 0)
				printf ",\"reference\":\"%s\"," \
				    "\"reference_value\":%s,\"ratio\":%.3f", \
				    what[k], v, got[k] / v
			else
				printf ",\"reference\":null," \
				    "\"reference_value\":null,\"ratio\":null"
			print "}"
		}
	}' "$dir/numbers"
}

most=$((bulk > slots ? bulk : slots))
python3 tests/bench/profiles.py --slots "$most" --dump >"$dir/population"
parts=" ${PARTS:-reference shapes seal day long metrics model real} "
for part in reference shapes seal day long metrics; do
	if [ "${parts/ $part /}" != "$parts" ]; then
		$part
	fi
done
[ "${parts/ model /}" != "$parts" ] || MODEL=0
[ "${parts/ real /}" != "$parts" ] || RECORD=0 RECORDING=
# What takes its time rather than the processor's runs side by side.
RECORD=${RECORD:-670} MODEL=${MODEL:-500} recorder=
if [ -z "${RECORDING:-}" ] && [ "$RECORD" != 0 ]; then
	say "recording a loaded LevelDB service for $RECORD s"
	tests/bench/record.sh "$build" "$RECORD" "$dir/recording" \
		>"$dir/recorder" 2>&1 &
	recorder=$!
	jobs+=("$recorder")
fi
[ "$MODEL" = 0 ] || model || failed=1
[ -z "${RECORDING:-}$recorder" ] || real || failed=1
finish
exit $failed
