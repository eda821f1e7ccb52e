#!/bin/sh
# Waits for work are left out of what waits: by what is waited for, by frames,
# and not where a statement is under way: MariaDB waits for rows with a time
# limit, and that was hidden.
. tests/api/lib
END=1700000000 SLOTS=20
WAITS=idle
export WAITS
start
when='from=1699999800&until=1700000000'
sql=$(enc 'offcpu{service="sql"}')
busy='d.flamebearer.numTicks === 20 * 2.625e9 &&
    d.memlens.total === 20 * 2.625e9'
get GET "/api/v1/flamegraph.json?query=$sql&$when"
check "all of it" js 'd.flamebearer.numTicks === 20 * 9.625e9'
get GET "/api/v1/flamegraph.json?query=$sql&$when&idle=show"
check "which may be said" js 'd.flamebearer.numTicks === 20 * 9.625e9'
get GET "/api/v1/flamegraph.json?query=$sql&$when&idle=hide"
check "a row and the log are no work that one waits for" js "$busy &&
    d.flamebearer.names.includes('lock_wait(que_thr_t*)') &&
    d.flamebearer.names.filter((x) => x === 'main').length === 1"
get GET "/api/v1/flamegraph.json?query=$(enc 'wall{service="sql"}')&$when&idle=hide"
check "nor is what runs, or wants a CPU" js '
    d.flamebearer.numTicks === 20 * (2.625e9 + 5 * 10101010) &&
    d.memlens.parts.cpu === 20 * 5 * 10101010 &&
    d.memlens.parts.offcpu === 20 * 2.625e9 && d.memlens.samples === 100'
get GET "/api/v1/flamegraph.json?query=$sql&$when&idle=hide&ignore=dispatch"
check "but that one can ignore them" js 'd.flamebearer.numTicks === 20 * 0.375e9'
get GET "/api/v1/flamegraph.json?query=$sql&$when&idle=hide&focus=log_wri"
check "or all but one" js 'd.flamebearer.numTicks === 20 * 0.25e9'
get GET "/api/v1/table.json?query=$sql&$when&idle=hide&function=$(enc main)&step=10"
check "a table" js '((row, pool) => row.total === 20 * 2.375e9 &&
    pool.total === 20 * 0.125e9 &&
    JSON.stringify(d).includes("2375000000"))(d.rows.find((r) =>
    r.name === "main"), d.rows.find((r) => r.name === "pool_wait"))'
get GET "/api/v1/flamegraph.folded?query=$sql&$when&idle=hide&bare=1"
check "folded stacks" sh -c \
    "test \$(wc -l <'$T/body') = 4 && ! grep -q 'pool_wait.*[3-9]0000000000' '$T/body'"
get GET "/api/v1/flamegraph.svg?query=$sql&$when&idle=hide"
check "a picture says so" grep -q "without idle waits" "$T/body"
get GET "/api/v1/diff.json?query=$sql&$when&from-b=1699999800&until-b=1699999900&idle=hide&normalise=time"
check "a difference" js '((row, pool) => row.total > pool.total &&
    d.leftTicks === 20 * 2.625e9)(
    d.rows.find((r) => r.name === "main"), d.rows.find((r) =>
    r.name === "pool_wait"))'
get GET "/api/v1/diff.svg?query=$sql&$when&from-b=1699999800&until-b=1699999900&idle=hide"
check "and its picture" sh -c \
    "grep -q lock_wait '$T/body' && ! grep -q main.*poll '$T/body'"
get GET "/api/v1/flamegraph.json?query=$(enc 'cpu{service="mix"}')&$when&idle=hide"
check "what has no such waits is all there" js 'd.flamebearer.numTicks > 0'
get GET "/api/v1/flamegraph.json?query=$sql&$when&idle=no"
check "another word is an error" js 'd.field === "idle"'
pg=$(enc 'offcpu{service="pg"}')
get GET "/api/v1/flamegraph.json?query=$pg&$when&idle=hide"
check "nor is a commit that waits for a replica, or a client's pause" js '
    d.flamebearer.numTicks === 20 * 2.25e9 &&
    d.flamebearer.names.includes("SyncRepWaitForLSN") &&
    d.flamebearer.names.includes("secure_write")'
get GET "/api/v1/flamegraph.folded?query=$pg&$when&idle=hide&bare=1"
check "in folded stacks" sh -c \
    "test \$(wc -l <'$T/body') = 3 && ! grep -q pq_getbyte '$T/body'"
get GET "/api/v1/flamegraph.pprof?query=$(enc 'inuse_space{service="pg"}')&$when"
check "no data has its type's unit" sh -c "gunzip -c '$T/body' | grep -aq bytes"
get GET "/api/v1/flamegraph.json?query=$(enc 'offcpu{service="within"}')&$when&idle=hide"
check "nor does a writer sleep for want of work, which its database slows down" js '
    d.flamebearer.numTicks === 20 * 0.875e9 &&
    d.flamebearer.names.includes("sqlite3_prepare_v2") &&
    d.flamebearer.names.includes("libleveldb.so.1d+0x1234") &&
    d.flamebearer.names.includes("[below threshold]") &&
    d.flamebearer.names.includes("stalls") &&
    d.flamebearer.names.includes("leveldb::DBImpl::BackgroundCall()") &&
    !d.flamebearer.names.includes("sqlite3_sleep")'
held=$(enc 'lock_holder{service="sql"}')
get GET "/api/v1/flamegraph.json?query=$held&$when"
check "who signals workers is told" js 'd.flamebearer.numTicks === 20 * 8e9'
get GET "/api/v1/flamegraph.json?query=$held&$when&idle=hide"
check "and hidden, that others are seen" js '
    d.flamebearer.numTicks === 20 * 1e9 &&
    d.flamebearer.names.includes("compacted") &&
    !d.flamebearer.names.includes("submit")'
get GET /api/v1/types
check "what idle is" js '((t) => /dispatch_command/.test(t.idle.unless) &&
    /timed/.test(t.idle.frames))(d.types.find((t) => t.name === "offcpu")) &&
    JSON.stringify(d.types.find((t) => t.name === "lock_holder").idle) ===
    "{\"labels\":\"reason=~\\\"timed condition\\\"\"}"'
exit $bad
