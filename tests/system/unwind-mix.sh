#!/bin/bash
# Threads, signal handlers, callbacks, the vdso, forks, a first thread that
# has ended, a program whose file is gone: stacks begin where threads begin.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
mix=$BUILD/system/unwind_mix
out=$dir/out
# Two functions of the C library at the root, whose names it may lack.
thread='};[^;]*(clone|libc)[^;]*;[^;]*(start_thread|libc)[^;]*;(in_thread|mix_)'
first='};(_start|mix_[a-z]*.0x[0-9a-f]*);[^;]*libc[^;]*;[^;]*libc[^;]*;(main|mix_)'

# Each under a name of its own, which is its service.
for way in threads fork leader probed; do
	cp "$mix" "$dir/mix_$way"
	begin "$dir/mix_$way" "$way" 300
done
cp "$mix" "$dir/mix_deleted"
begin "$dir/mix_deleted" leader 300
sleep 0.2
rm "$dir/mix_deleted"
sample_until "$out" mix_threads mix_fork mix_leader mix_deleted mix_probed -- \
	-h 499 -s 2000

probed=$(settled "$out" mix_probed |
	awk '/;in_(sort|aligned);/ { n += $NF } END { print n + 0 }')
# In the kernel's own few instructions of a probe there is no way back, and
# none from the instruction that aligns a stack.
whole "return probes" "$out" mix_probed "$first" 60 850
expect "return probes: under their functions" "$probed samples" \
	"$probed" -ge 20
whole "threads" "$out" mix_threads "($thread|$first)"
handler=$(settled "$out" mix_threads |
	awk '/;in_(thread|sort|vdso|aligned).*;on_signal;burn / { n += $NF } END { print n + 0 }')
expect "through a signal handler" "$handler samples" \
	"$handler" -ge 10
clock=$(settled "$out" mix_threads |
	awk '/;in_vdso;.*clock_gettime/ { n += $NF } END { print n + 0 }')
expect "the vdso" "$clock samples" "$clock" -ge 10
sorted=$(settled "$out" mix_threads |
	awk '/;in_sort;.*;in_callback;burn / { n += $NF } END { print n + 0 }')
expect "callbacks of the C library" "$sorted samples" "$sorted" -ge 10
# A process on its way out has given up its stack.
whole "children of a fork" "$out" mix_fork "($first|};\[no user stack\])" 60
whole "the first thread has ended" "$out" mix_leader "$thread" 60
whole "the file is deleted" "$out" mix_deleted "$thread" 60
