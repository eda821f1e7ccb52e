#!/bin/sh
# Tables of functions, one function over time, callers and callees.
. tests/api/lib
END=1700000000
start
q=$(enc 'cpu{service="kv"}')
range='from=1699998600&until=1699998700'
get GET "/api/v1/table.json?query=$q&$range"
check "the table, exactly" js 'd.samples === 60 && d.functions === 5 &&
    d.rows.map((r) => [r.name, r.kind, r.self / 10101010,
    r.total / 10101010].join()).join(" ") ===
    "read,user,30,30 write,user,20,20 futex_wait,kernel,10,10 " +
    "idle,user,0,10 main,user,0,60"'
check "shares" js 'd.rows[0].self_share === 0.5 &&
    d.rows[4].total_share === 1 && d.rows[4].self_share === 0'
check "what it covers" js 'd.from === 1699998600 && d.until === 1699998700 &&
    d.slots === 10 && d.state === "data" &&
    d.unit === "nanoseconds" && d.period === 10101010 && d.lost.ring_full === 10'
check "the samples of each row" js 'd.rows.every((r) =>
    r.self === r.self_samples * 10101010 &&
    r.total === r.total_samples * 10101010)'
check "no places unless they are asked for" js '!("places" in d.rows[0])'
get GET "/api/v1/table.json?query=$q&$range&places=1"
check "places by function" js 'JSON.stringify(d.rows[0].places) ===
    JSON.stringify([{file: "/src/a:b.cc", line: 12, module: "prog",
    build_id: "ab12", service: null}, {file: "io.c", line: 7, module: "libio.so",
    build_id: "", service: null}]) && d.rows.slice(1).every((r) => r.places.length === 0)'
get GET "/api/v1/table.json?query=$q&$range&places=2"
check "places are shown or not" status 400
get GET "/api/v1/table.json?query=$q&$range&sort=total&limit=2"
check "sort and limit" js 'd.functions === 5 &&
    d.rows.map((r) => r.name).join() === "main,read"'
get GET "/api/v1/table.json?query=$q&$range&ignore=idle&sort=name"
check "ignore" js 'd.samples === 50 && d.total === 606060600 &&
    d.rows.map((r) => r.name).join() === "main,read,write"'
get GET "/api/v1/table.json?query=$q&$range&sort=size"
check "an order that is none" status 400

# over time: the gap of ten slots is null, the parts add up to the whole
gap='from=1699999300&until=1699999700'
get GET "/api/v1/table.json?query=$q&$gap&function=read&step=50"
check "a function over time" js 'd.over_time.function === "read" &&
    d.over_time.step === 50 && d.over_time.points.length === 8 &&
    d.over_time.points[0].join() === "1699999300,151515150,151515150"'
check "no data is null" js 'd.over_time.points.some((p) => p[1] === null) &&
    d.over_time.points.every((p) => p[1] !== 0)'
check "the points add up to the row" js 'd.over_time.points.reduce(
    (s, p) => s + p[1], 0) === d.rows.find((r) => r.name === "read").self'
get GET "/api/v1/table.json?query=$(enc 'cpu{service="kv",pool="never"}')&$range&function=read&step=50"
check "nor is a label that no stack has a zero" js 'd.state === "no data" &&
    d.over_time.points.every((p) => p[1] === null && p[2] === null)'
get GET "/api/v1/table.json?query=$q&from=1699999301&until=1699999698&function=main&step=7s"
check "cut slots too" js 'd.over_time.step === 10 &&
    d.over_time.points.reduce((s, p) => s + p[2], 0) ===
    d.rows.find((r) => r.name === "main").total'
get GET "/api/v1/table.json?query=$q&from=1699990000&until=1700000000&function=main&step=10"
check "too many steps" status 413

# steps_of_one_period_add_up_to_a_whole_of_two
get GET "/api/v1/table.json?query=wall&from=1699998500&until=1699999500&function=main&step=50"
check "mixed periods: parts and whole are in one unit" js 'd.period === null &&
    d.unit === "nanoseconds" &&
    d.over_time.points.reduce((s, p) => s + p[1], 0) ===
    d.rows.find((r) => r.name === "main").self'
check "and its samples are counted" js 'd.samples === 90 * 4 &&
    d.rows[0].self_samples === 360 && d.rows[0].total_samples === 360 &&
    d.rows[0].self > 360 * 10000000 && d.rows[0].self < 360 * 20000000'
get GET "/api/v1/sandwich.json?query=wall&from=1699998500&until=1699999500&function=main"
check "in a sandwich too" js 'd.function.total_samples === 360 &&
    JSON.stringify(d.callers.sample_levels) === "[[360,0],[360,360]]"'
get GET "/api/v1/sandwich.json?query=$q&$range&function=idle"
check "callers and callees" js 'd.function.self === 0 &&
    d.function.total === 101010100 &&
    d.function.total_samples === 10 && d.function.self_samples === 0 &&
    d.callers.flamebearer.names.join() === "total,idle,main" &&
    d.callees.flamebearer.names.join() === "total,idle,futex_wait" &&
    d.callees.kinds.join() === "unknown,user,kernel" &&
    d.callees.flamebearer.levels[2].join() ===
    "0,101010100,101010100,2" &&
    d.callers.flamebearer.numTicks === 101010100'
get GET "/api/v1/sandwich.json?query=$q&$range&function=nobody"
check "a function that is not there" js 'd.function.total === 0 &&
    d.callers.flamebearer.numTicks === 0'
get GET "/api/v1/sandwich.json?query=$q&$range"
check "no function" js 'd.field === "function"'
get GET "/api/v1/table.json?query=$(enc 'cpu{service="quiet"}')&$range"
check "zero is not no data" js 'd.state === "zero" && d.rows.length === 0'
get GET "/api/v1/table.json?query=$(enc 'offcpu{}')&$range"
check "not attached" js 'd.state === "not attached" && d.why !== ""'
exit $bad
