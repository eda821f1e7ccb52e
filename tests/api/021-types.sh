#!/bin/sh
# The table of profile types, and what strangers have pushed.
. tests/api/lib
start
type='((n) => d.types.find((t) => t.name === n))'
get GET /api/v1/types
check "answered" status 200
check "our own type, as clients know it" js "JSON.stringify($type('cpu')) ===
    JSON.stringify({name: 'cpu', title: 'CPU time', unit: 'nanoseconds',
    kind: 'flow', time: true, source: 'profiler',
    pyroscope: 'process_cpu:cpu:nanoseconds:cpu:nanoseconds',
    pprof: {type: 'cpu', unit: 'nanoseconds'},
    period: {type: 'cpu', unit: 'nanoseconds'}, present: true})"
check "what the store has none of is listed, and not present" js \
    "$type('wall').present && !$type('inuse_space').present"
check "a stock in bytes is no time" js "$type('inuse_space').kind ===
    'stock' && $type('inuse_space').unit === 'bytes' &&
    !$type('inuse_space').time && $type('inuse_space').period.type ===
    'space'"
check "units are clients', never an agent's own" js 'd.types.length > 20 &&
    d.types.every((t) => ["nanoseconds", "bytes", "count",
    "samples"].includes(t.unit))'
check "pprof's words differ from ours" js \
    "$type('mutex_duration').pprof.type === 'delay' &&
    $type('goroutines').pyroscope === 'goroutine:goroutine:count:goroutine:count'"
check "names are told once" js \
    'new Set(d.types.map((t) => t.name)).size === d.types.length'
check "each has a title" js 'd.types.every((t) => t.title.length > 2)'
get POST /api/v1/types
check "nothing is changed by it" status 405
exit $bad
