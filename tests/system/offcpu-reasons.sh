#!/bin/bash
# Waits that the system call alone does not tell: locks with a time limit,
# semaphores, Rust's mutex, a FIFO's open, 32-bit calls, calls that go on
# after the thread was stopped.  And how many threads began and ended.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/waits.sh"
out=$dir/out
oracle=reasons_$tag
own "$BUILD/system/reasons_oracle" reasons || exit 1
all_of() { samples "$out" "pool=$1,process=$2,reason=$3}"; }
# counted NAME : of the program's service
counted() {
	awk -v name="$1" -v of="[$oracle]" '$1 == "counter" && $3 == name &&
		$4 == of { n += $(NF - 1) } END { print n + 0 }' "$out"
}

# One thread holds a mutex for 40 ms again and again, the other wants it.
cat >"$dir/rust.rs" <<'END'
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
fn main() {
    let m = Arc::new(Mutex::new(0));
    let end = Instant::now() + Duration::from_millis(3500);
    let of = m.clone();
    thread::Builder::new().name("rust-hold".into()).spawn(move || loop {
        let mut x = of.lock().unwrap();
        *x += 1;
        thread::sleep(Duration::from_millis(40));
        drop(x);
        thread::sleep(Duration::from_millis(1));
    }).unwrap();
    thread::Builder::new().name("rust-want".into()).spawn(move || {
        while Instant::now() < end {
            *m.lock().unwrap() += 1;
            thread::sleep(Duration::from_millis(2));
        }
    }).unwrap().join().unwrap();
}
END
rust=
if command -v rustc >/dev/null && rustc -O -o "$dir/rust_$tag" "$dir/rust.rs" \
	>/dev/null 2>&1; then
	rust=rust_$tag
fi

begin_driver -s 1000 -w 1000
renice -n -15 -p "$driver_pid" >/dev/null 2>&1
seen slots 2
noise=$(stolen)
[ -z "$rust" ] || begin "$dir/$rust"
"$dir/$oracle" 2400 "$dir" >"$dir/true"
noise=$(($(stolen) - noise))
n=$(grep -c '^child' "$out")
seen slots $((n + 3))
end_driver

while read -r _ pool reason want calls; do
	if [ "$reason" = - ]; then
		[ "$pool" != old-caller ] ||
			echo "skip - $pool: no 32-bit calls here"
		continue
	fi
	got=$(all_of "$pool" "$oracle" "$reason")
	may=$((want / 50 + 8000000 + calls * 20000))
	expect "$pool waits for: $reason" \
		"$got ns, it says $want (calls: $calls, stolen: $noise)" \
		"$got" -le $((want + may)) -a \
		"$got" -ge $((want - may - noise))
done < <(grep '^waited' "$dir/true")
# The first ones may be older than the tables of their code.
called=$(samples "$out" "pool=parent,process=$oracle,reason=other};.*;wait_child;")
all=$(all_of parent "$oracle" other)
expect "who waits in vfork has callers" "$called of $all ns" \
	"$all" -gt 0 -a $((called * 4)) -ge $((all * 3))
if [ -n "$rust" ]; then
	lock=$(all_of rust-want "$rust" lock)
	condition=$(all_of rust-want "$rust" condition)
	# The first of its waits are older than its names.
	expect "Rust's mutex is a lock" "$lock ns, condition: $condition" \
		"$lock" -gt 1000000000 -a $((condition * 3)) -lt "$lock"
else
	echo "skip - Rust's mutex is a lock: no rustc"
fi
read -r _ born < <(grep '^born' "$dir/true")
expect "births" "$(counted thread_births_total) of $born" \
	"$(counted thread_births_total)" = "$born"
expect "deaths" "$(counted thread_deaths_total) of $born" \
	"$(counted thread_deaths_total)" = "$born"
# What the states of threads say and what the profile says is the same, to the
# 0.1 % that the identity may miss.
for reason in lock condition pipe disk; do
	n=$(awk -v s="$oracle" -v r="[$reason]" '$1 == "time" && $3 == s &&
		$4 == r { n += $NF } END { printf "%.0f\n", n }' "$out")
	got=$(samples "$out" ",process=$oracle,reason=$reason}")
	may=$((n / 1000 + 100000))
	expect "$reason: states and profile are one" "$got of $n" \
		"$got" -le $((n + may)) -a "$got" -ge $((n - may))
done
