/*
 * Texts to measure flame graphs with, the same in every run:
 *
 *	flame_text folded N      N folded stacks of 10 to 50 frames
 *	flame_text short N       N of 4 or 5, hardly two of them the same
 *	flame_text perf BYTES    at least so much of perf script's text
 *
 * Stacks are walks over 8,000 functions that mostly go on alike, so that the
 * first levels are shared and the ends are not: 100,000 of them are about
 * 105 MB and 2.5 million different frames.  A recording sees the same stacks
 * again and again: the samples are of 4,000 stacks, some of them often.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS 8000u
#define RECORDED 4000u

static uint64_t state = 1;

/* A step of splitmix64. */
static uint32_t
draw(uint32_t n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) % n);
}

static char names[FUNCTIONS][64];

/* Fills frames[], from the root; returns how many. */
static uint32_t
walk(uint32_t frames[64])
{
	static const uint32_t steps[] = {1, 1, 1, 2, 3, 7};
	uint32_t depth = 10 + draw(41), x = draw(20);

	for (uint32_t i = 0; i < depth; i++) {
		frames[i] = x;
		x = (x * 31 + steps[draw(6)] + i * 17) % FUNCTIONS;
	}
	return depth;
}

static void
put_folded(void)
{
	uint32_t frames[64], depth = walk(frames);

	for (uint32_t i = 0; i < depth; i++)
		printf("%s%s", i > 0 ? ";" : "", names[frames[i]]);
	printf(" %u\n", 1 + draw(100));
}

/* Each a leaf of its own in a tree that no cache holds. */
static void
put_short(void)
{
	printf("main");
	for (uint32_t i = 3 + draw(2); i > 0; i--)
		printf(";fn_%u", draw(2000));
	printf(" %u\n", 1 + draw(9));
}

static uint64_t
put_perf(uint64_t number)
{
	static const char *const modules[] = {"/usr/bin/server",
	    "/usr/lib/x86_64-linux-gnu/libc.so.6",
	    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
	    "[kernel.kallsyms]"};
	uint64_t bytes, resume = state;
	uint32_t frames[64], depth;

	state = 1000 * (uint64_t)draw(1 + draw(RECORDED));
	depth = walk(frames);
	bytes = (uint64_t)printf("server %u/%u [%03u] %llu.%06u:   10101010 "
	    "cpu-clock:ppp: \n", 4711, 4711 + draw(16), draw(2),
	    (unsigned long long)(number / 99), draw(1000000));
	for (uint32_t i = depth; i-- > 0;) {
		uint32_t offset = 0x10 + 0x24 * draw(4);

		bytes += (uint64_t)printf("\t    %012llx %s+0x%x (%s)\n",
		    0x55d000000000ull + frames[i] * 4096ull + offset,
		    names[frames[i]], offset, modules[frames[i] % 4]);
	}
	state = resume + 0x9e3779b97f4a7c15u;
	return bytes + (uint64_t)printf("\n");
}

int
main(int argc, char **argv)
{
	uint64_t n, bytes = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: flame_text folded|short|perf N\n");
		return 2;
	}
	n = strtoull(argv[2], NULL, 10);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		snprintf(names[i], sizeof(names[i]),
		    "ns%u::module%u::function_name_%u", draw(50), draw(300),
		    i);
	if (strcmp(argv[1], "folded") == 0)
		for (uint64_t i = 0; i < n; i++)
			put_folded();
	else if (strcmp(argv[1], "short") == 0)
		for (uint64_t i = 0; i < n; i++)
			put_short();
	else
		for (uint64_t i = 0; bytes < n; i++)
			bytes += put_perf(i);
	return fflush(stdout) != 0;
}
