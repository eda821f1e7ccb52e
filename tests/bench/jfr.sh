#!/bin/bash
# Pyroscope's agent for Java as it comes from Maven, pushing to a worker: is
# every event of its recordings stored?  The JDK's own reader counts them.
#
#	jfr.sh BUILD [SECONDS]
#
# Needs a JDK and mvn; AGENT is the version.  Uses PORT and the one behind it.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=$(cd "${1:?folder of the build}" && pwd)
export BUILD
seconds=${2:-15} agent=${AGENT:-2.1.2} PORT=${PORT:-18890}
for tool in javac jfr mvn; do
	command -v $tool >/dev/null || {
		echo "no $tool beside us" >&2
		exit 0
	}
done
. tests/api/lib
. tests/api/stack
. tests/bench/lib.sh
mvn -q dependency:get -Dartifact="io.pyroscope:agent:$agent" >&2 || exit 1
jar=${HOME:-/root}/.m2/repository/io/pyroscope/agent/$agent/agent-$agent.jar
start_stack
start_nginx
mkdir "$T/class"
javac -cp "$jar" -d "$T/class" tests/bench/jfr_work.java || exit 1

# pushed NAME VARIABLE=VALUE... : runs the program under the agent
pushed() {
	local name=$1 tee
	shift
	mkdir "$T/$name"
	python3 tests/bench/jfr_tee.py $((PORT + 1)) "$PORT" "$T/$name" \
	    >"$T/$name.pushes" &
	tee=$!
	wait_until bash -c "echo >/dev/tcp/127.0.0.1/$((PORT + 1))"
	env PYROSCOPE_APPLICATION_NAME="$name" PYROSCOPE_FORMAT=jfr \
	    PYROSCOPE_SERVER_ADDRESS="http://127.0.0.1:$((PORT + 1))" \
	    PYROSCOPE_UPLOAD_INTERVAL=2s PYROSCOPE_PROFILER_ALLOC=64k \
	    PYROSCOPE_PROFILER_LOCK=1ms "$@" java -Xmx64m -javaagent:"$jar" \
	    -cp "$T/class:$jar" jfr_work "$seconds" >"$T/$name.log" 2>&1
	kill $tee
	wait $tee 2>/dev/null
}

# Each type of a service: what jfr print counts, and the store's total.
told=0 differ=0
compare() {
	local name=$1 type want got per
	for f in "$T/$name"/*.jfr; do
		[ -e "$f" ] || continue # the agent was slower than its program
		python3 tests/replay/jfr_compare.py fold "$f"
	done | awk -F '\t' '{ n[$1] += $3 } END { for (t in n)
		printf "%s %.0f\n", t, n[t] }' >"$T/$name.events"
	while read -r type want; do
		[ "$type" != live ] || continue # a mean over time, no sum
		per=1
		case $type in cpu | wall) per=10000000 ;; esac
		got=$(curl -sG "$base/api/v1/flamegraph.json" \
		    --data-urlencode "query=$type{service=\"$name\"}" \
		    --data-urlencode from=$(($(date +%s) - 3600)) \
		    --data-urlencode until=$(($(date +%s) + 60)) |
			jq -c .memlens.total)
		case $type in
		*_bytes | *_duration) ;;
		*) told=$((told + want)) ;;
		esac
		[ "$((want * per))" = "$got" ] || differ=$((differ + 1))
		echo "$name: $type $want, in the store $got of $per" >&2
	done <"$T/$name.events"
}

pushed itimer PYROSCOPE_PROFILER_EVENT=itimer
pushed wall PYROSCOPE_PROFILER_EVENT=wall PYROSCOPE_ALLOC_LIVE=true
compare itimer
compare wall
pushes=$(cat "$T"/*.pushes | wc -l)
refused=$(grep -vc '^200 ' <(cat "$T"/*.pushes))
row jfr_types_that_differ "$differ" types "of events told by jfr print" "$told"
row jfr_pushes_refused "$refused" pushes "pushed by the agent $agent" "$pushes"
[ "$differ" = 0 ] && [ "$refused" = 0 ] && [ "$told" -gt 0 ]
