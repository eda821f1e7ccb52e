#!/bin/bash
# Libraries take turns at one address, twice a second, each with frames of other
# sizes: a stack that was walked by the rows of the one before leads from where
# the program begins, or bears a mark.
. "$(dirname "$0")/lib/cpu.sh"
out=$dir/out
turns=turns_$tag
for l in 0 1 2 3 4 5; do
	words=$((2 + l * 7 % 23))
	cat >"$dir/$l.c" <<-END
	unsigned long leaf_$l(unsigned long n), middle_$l(unsigned long n);
	$([ $((l % 2)) = 0 ] && echo 'int pad(int x) { volatile int y[9] = {0};
	for (int i = 0; i < 9; i++) y[i] = x * i; return y[x & 7]; }')
	__attribute__((noinline)) unsigned long spin(unsigned long n)
	{
		volatile unsigned long x[$((26 - words))] = {0};
		x[1] = middle_$l(n);
		return x[1] + 1;
	}
	__attribute__((noinline)) unsigned long middle_$l(unsigned long n)
	{
		volatile unsigned long x[$words] = {0};
		x[1] = leaf_$l(n);
		return x[1] + 1;
	}
	__attribute__((noinline)) unsigned long leaf_$l(unsigned long n)
	{
		volatile unsigned long x[$((28 - words))] = {0};
		for (unsigned long i = 0; i < n; i++)
			x[0] = x[0] * 3 + i;
		return x[0];
	}
	END
	gcc -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC \
		-o "$dir/$l.so" "$dir/$l.c" || exit 1
done
cat >"$dir/turns.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
	double end = now() + atof(argv[argc - 1]);
	for (int l = 0; now() < end; l = (l + 1) % 6) {
		double turn = now() + 0.5;
		unsigned long (*spin)(unsigned long);
		char path[4096];
		void *library;
		snprintf(path, sizeof(path), "%s/%d.so", argv[1], l);
		library = dlopen(path, RTLD_NOW);
		*(void **)&spin = dlsym(library, "spin");
		while (now() < turn)
			spin(20000);
		dlclose(library);
	}
}
END
gcc -O1 -o "$dir/$turns" "$dir/turns.c" -ldl || exit 1

begin_driver -k -s 1000
seen grep -q '^child' "$out"
"$dir/$turns" "$dir" 20
n=$(grep -c '^child' "$out")
after() { [ "$(grep -c '^child' "$out")" -ge $((n + 3)) ]; }
seen after
end_driver
# of PATTERN : samples of the program's stacks that match
of() {
	awk -v service="$turns" -v p="$1" '$1 == "stack" &&
		index($0, service) && $0 ~ p { n += $NF } END { print n + 0 }' "$out"
}
all=$(of ';leaf_[0-9] ')
expect "its libraries were sampled" "$all samples" "$all" -gt 100
whole=$(of '[}];_start;.*;main;spin;middle_[0-9];leaf_[0-9] ')
marked=$(of '[}];\[[a-z ]*\];.*leaf_[0-9] ')
expect "what does not lead from its beginning is marked" \
	"$whole whole, $marked marked of $all" "$((whole + marked))" = "$all"
