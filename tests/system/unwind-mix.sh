#!/bin/bash
# Threads, signal handlers, callbacks, the vdso, forks, a first thread that
# has ended, a program whose file is gone: stacks begin where threads begin.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
mix=$BUILD/system/unwind_mix
out=$dir/out
# Two functions of the C library at the root, whose names it may lack.
thread='};[^;]*(clone|libc)[^;]*;[^;]*(start_thread|libc)[^;]*;(in_thread|mix)'
first='};(_start|mix[a-z_]*.0x[0-9a-f]*);[^;]*libc[^;]*;[^;]*libc[^;]*;(main|mix)'

# Each under a name of its own, which is its service.
start() { # NAME WAY
	own "$mix" "$1"
	begin "$dir/$1_$tag" "$2" 900
}
start mixt threads
start mixf fork
start mixl leader
start mixp probed
start mixg leader
threads=mixt_$tag fork=mixf_$tag leader=mixl_$tag probed=mixp_$tag
gone=mixg_$tag
running() { [ "$(readlink "/proc/$last/exe")" = "$dir/$gone" ]; }
await 60 running
rm "$dir/$gone"

sorting=';in_(sort|aligned);'
handler=';in_(thread|sort|vdso|aligned).*;__restore_rt;on_signal;burn '
clock=';in_vdso;.*clock_gettime'
called=';in_sort;.*;in_callback;burn '
# (Most of the short-lived children are gone before a busy machine's profiler
# comes to ask who they were.)
content() {
	sampled 1000 "$threads" "$leader" "$gone" &&
		sampled 300 "$probed" && sampled 100 "$fork" &&
		[ "$(count "$out" "$probed" "$sorting")" -ge 20 ] &&
		[ "$(count "$out" "$threads" "$handler")" -ge 10 ] &&
		[ "$(count "$out" "$threads" "$clock")" -ge 10 ] &&
		[ "$(count "$out" "$threads" "$called")" -ge 10 ]
}
sample_until content -h 499 -s 1000

# In the kernel's own few instructions of a probe there is no way back, and
# none from the instruction that aligns a stack.
whole "return probes" "$out" "$probed" "$first" 60 850
n=$(count "$out" "$probed" "$sorting")
expect "return probes: under their functions" "$n samples" "$n" -ge 20
whole "threads" "$out" "$threads" "($thread|$first)"
n=$(count "$out" "$threads" "$handler")
expect "through a signal handler" "$n samples" "$n" -ge 10
n=$(count "$out" "$threads" "$clock")
expect "the vdso" "$n samples" "$n" -ge 10
n=$(count "$out" "$threads" "$called")
expect "callbacks of the C library" "$n samples" "$n" -ge 10
# A process on its way out has given up its stack.
whole "children of a fork" "$out" "$fork" "($first|};\[no user (stack|memory)\])" 60
whole "the first thread has ended" "$out" "$leader" "$thread" 60
whole "the file is deleted" "$out" "$gone" "$thread" 60
