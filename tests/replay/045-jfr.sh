#!/bin/bash
# Flight recordings against what the JDK's own reader says of them: each stack
# of each type.  tests/data/jfr: jdk17 is of a JVM,
#	java -XX:StartFlightRecording=filename=jdk17.jfr,settings=FILE Work 3
# with samples, allocations, monitors and parking enabled; agent is a push of
# Pyroscope's agent 2.1.2 (event itimer, alloc 64k, lock 1ms) taken apart; both
# .folded by "jfr_compare.py fold".
set -u
cd "$(dirname "$0")/../.." || exit 1
for name in jdk17 agent; do
	data=tests/data/jfr/$name
	if python3 tests/replay/jfr_compare.py check "$data.jfr.gz" \
		"$BUILD/memlens" "$data.folded" >"$BUILD/logs/jfr.$name"; then
		ok=ok
	else
		ok="not ok"
		sed 's/^/# /' "$BUILD/logs/jfr.$name"
	fi
	echo "$ok - each stack of $name is what jfr print says"
done
