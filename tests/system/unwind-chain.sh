#!/bin/bash
# A generated program of 30 functions that call each other, with frames of
# every kind and no frame pointers: its stacks are known to the last frame.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out

# Function number i calls number i + 1 and does something with the result
# afterwards, so that no call is a jump.
awk 'BEGIN {
	print "#include <alloca.h>\n#include <stdint.h>\n#include <time.h>"
	print "#define FN __attribute__((noinline, noclone)) uint64_t"
	print "volatile uint64_t sink;"
	print "FN last(uint64_t x) { int i; for (i = 0; i < 30000; i++)"
	print "\tx = x * 25214903917u + 11; sink += x; return x; }"
	for (i = 29; i >= 0; i--) {
		call = (i == 29 ? "last" : sprintf("c%02d", i + 1))
		printf "FN c%02d(uint64_t x) { ", i
		if (i % 6 == 0)
			printf "return %s(x) ^ %d; }\n", call, i + 1
		else if (i % 6 == 1)
			printf "volatile char a[%d]; a[x %% 8] = 1; " \
			    "return %s(x + 1) + a[x %% 8]; }\n", 40 * i, call
		else if (i % 6 == 2)
			printf "volatile char *a = alloca(x %% 99 + %d); " \
			    "a[0] = 1; return %s(x) * 3 + a[0]; }\n", i, call
		else if (i % 6 == 3)
			printf "uint64_t a = x * 3, b = x ^ sink, c = x >> 7, " \
			    "d = ~x, e = x << 9; x = %s(x); " \
			    "return x + a * b + c * d + e + (x >> 3); }\n", call
		else if (i % 6 == 4)
			printf "volatile char a[64] __attribute__((aligned" \
			    "(64))); a[x %% 64] = 1; return %s(x) + " \
			    "a[x %% 64]; }\n", call
		else
			printf "volatile char a[9000]; a[x %% 9000] = 1; " \
			    "return %s(x - 1) + a[x %% 9000]; }\n", call
	}
	print "int main(void) { time_t end = time(0) + 30; uint64_t n = 0;"
	print "\twhile (time(0) < end) c00(n++); return 0; }"
}' >"$dir/unwind_chain.c"
gcc -O2 -fomit-frame-pointer -o "$dir/unwind_chain" "$dir/unwind_chain.c" ||
	{ not_ok "compiles"; exit 1; }

begin "$dir/unwind_chain"
"$driver" -s 1000 -n 8 >"$out" 2>"$dir/err"
need_attached "$out"

# A stack is right when it goes from _start to main and on along the chain,
# without a gap, to wherever the clock found it; then kernel frames at most.
right() {
	settled "$out" unwind_chain | awk '{
		good = 0
		if (sub(/^.*};_start;[^;]*libc[^;]*;/, "") &&
		    sub(/^[^;]*libc[^;]*;main/, "")) {
			line = $0
			sub(/ [0-9]+$/, "", line)
			n = split(substr(line, 2), f, ";")
			for (i = 1; i <= n; i++)
				if (f[i] != sprintf("c%02d", i - 1))
					break
			good = 1
			if (i == 31 && f[i] == "last")
				i++
			for (; i <= n; i++)
				if (f[i] ~ /^(c[0-9][0-9]|last|main|_start)$/)
					good = 0
		}
		sum += good * $NF } END { print sum + 0 }'
}
all=$(settled "$out" unwind_chain | awk '{ n += $NF } END { print n + 0 }')
good=$(right)
expect "sampled" "$all samples" "$all" -ge 200
expect "99.9 % of the stacks are exactly right" "$good of $all" \
	$((good * 1000)) -ge $((all * 999))
deep=$(settled "$out" unwind_chain | awk '/;c28;c29;last / { n += $NF }
	END { print n + 0 }')
expect "the deepest function is where the time goes" "$deep samples" \
	"$deep" -ge 150
if balanced "$out"; then ok "runs = idle + lost + stored"
else not_ok "runs = idle + lost + stored" "$(grep ^balance "$out")"; fi
