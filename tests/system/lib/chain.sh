# A chain of 30 functions with frames of every kind, as C on the standard
# output: c00 calls c01 ... c29 calls last, which burns time.  Each does
# something with the result afterwards, so that no call is a jump.
#
#   chain_functions ROUNDS      of last's loop
chain_functions() {
	awk -v rounds="$1" 'BEGIN {
	print "#include <alloca.h>\n#include <stdint.h>\n#include <time.h>"
	print "#define FN __attribute__((noinline, noclone)) uint64_t"
	print "volatile uint64_t sink;"
	print "FN last(uint64_t x) { int i; for (i = 0; i < " rounds "; i++)"
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
	}'
}
