#!/bin/sh
# Services of a range.
. tests/api/lib
# Ahead of the clock, so that it stays young on a machine that is slow.
END=$(($(date +%s) + 60))
start
get GET /api/v1/services
check "services are sorted by name" \
    js 'd.services.map((s) => s.name).join() === "kv,odd,other,quiet"'
check "a process: pid, command, start" js 'JSON.stringify(
    d.services[0].processes) === JSON.stringify([{pid: 4242,
    command: "kv server /usr/bin/env", started: 1700000000.5}])'
check "an unknown executable is left out" \
    js 'd.services[3].processes[0].command === "q"'
check "profile types" js 'd.services[0].profiles.join() === "cpu,wall"'
check "the newest data" js 'Date.now() / 1000 - d.services[0].last < 30'
get GET '/api/v1/services?from=0&until=1000'
check "before there was any" js 'd.services.length === 0'
exit $bad
