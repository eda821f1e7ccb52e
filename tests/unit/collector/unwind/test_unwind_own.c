/*
 * The step of the stack walker on the test's own stack, by the rows of its
 * files, against libgcc's unwinder.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <linux/types.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#undef MAPPING_FILE /* words of sys/mman.h, and of maps.h */
#undef MAPPING_ANONYMOUS
#include "collector/maps/maps.h"
#include "collector/symbols/unwind_read.h"
#include "collector/unwind/unwind_rows.h"
#include "tests/unit/collector/unwind/walker_maps.h"
#include "tests/unit/test.h"

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	return pread(*(int *)arg, p, n, (off_t)at) == (ssize_t)n;
}

/* What holds at the offset, 0 when nothing is known of it. */
static const struct unwind_row *
naive_row(const struct ehframe_rows *r, uint32_t offset)
{
	size_t low = 0, high = r->n, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (r->rows[mid].pc <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 && r->rows[low - 1].kind != UNWIND_NONE ?
	    &r->rows[low - 1] : NULL;
}

/* A region's rows are those of the whole file there. */
static void
compare_region(const struct unwind_file *part, uint32_t at,
    const struct ehframe_rows *all)
{
	const struct unwind_code *c = &part->code;
	uint32_t size = 1u << c->shift, low = c->base + at * size, pc;
	const struct unwind_row *a, *b;

	for (pc = low; pc - low < size && test_bad < 3; pc++) {
		a = naive_row(&part->rows, pc);
		b = naive_row(all, pc);
		CHECK((a == NULL) == (b == NULL));
		if (a != NULL && b != NULL)
			CHECK(a->kind == b->kind && a->cfa == b->cfa &&
			    a->bp == b->bp);
	}
}

/* The rows of an open file into table t, by regions. */
static uint32_t
load_file(uint32_t t, int fd, uint32_t first)
{
	struct stat st;
	struct elf_input in = {.read = file_read, .arg = &fd};
	struct unwind_file all, f;
	uint32_t at;

	fstat(fd, &st);
	in.size = (uint64_t)st.st_size;
	CHECK_INT(unwind_read(&in, UNWIND_READ_ALL, CELLS, &all), ELF_OK);
	set_code(t, all.code);
	for (at = 0; at < all.code.n; at++) {
		CHECK_INT(unwind_read(&in, all.code.base + (at <<
		    all.code.shift) + 1, UNWIND_ROWS_MAX, &f), ELF_OK);
		CHECK(memcmp(&f.code, &all.code, sizeof(f.code)) == 0);
		if (all.code.n > 1)
			compare_region(&f, at, &all.rows);
		first = load_region(t, at, f.rows.rows, f.rows.n, first);
		free(f.rows.rows);
	}
	free(all.rows.rows);
	return first;
}

/* Our own mappings as the walker's. */
static uint32_t
load_self(void)
{
	static char text[1 << 18];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct maps_list l;
	size_t n = 0, i;
	ssize_t got;
	uint32_t first = 0;

	while ((got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	close(fd);
	CHECK(maps_parse(text, n, &l) == NULL && l.n <= MAPPINGS);
	for (i = 0; i < l.n; i++) {
		const struct mapping *m = &l.mappings[i];

		mappings[i] = (struct unwind_mapping){m->start,
		    m->start - m->offset,
		    (__u32)((m->end - m->start) >> 12), UNWIND_NO_TABLE};
		if (m->kind != MAPPING_FILE)
			continue;
		fd = open(maps_name(&l, m), O_RDONLY | O_CLOEXEC);
		mappings[i].table = (__u32)i;
		first = load_file((uint32_t)i, fd, first);
		close(fd);
	}
	n = l.n;
	maps_list_fini(&l);
	return (uint32_t)n;
}

static __u64 walked[64];
static void *expected[64];
static int n_walked, n_expected;
static uint32_t n_mappings;

static void
on_signal(int sig)
{
	struct unwind_state s = {.n = n_mappings};
	ucontext_t uc;

	(void)sig;
	getcontext(&uc);
	s.ip = (__u64)uc.uc_mcontext.gregs[REG_RIP];
	s.sp = (__u64)uc.uc_mcontext.gregs[REG_RSP];
	s.bp = (__u64)uc.uc_mcontext.gregs[REG_RBP];
	n_walked = 0;
	do
		walked[n_walked++] = s.ip;
	while (n_walked < 64 && unwind_step(&s) == 0);
	n_expected = backtrace(expected, 64);
	CHECK_INT(s.error, BROKEN_NOT);
}

/* Frames of several shapes: plain, with a large array, of variable size,
 * called back by the C library. */
static volatile int sink;

static int
compare_and_raise(const void *a, const void *b)
{
	if (n_walked == 0)
		raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void
deep(int depth, size_t size)
{
	volatile char *p = __builtin_alloca(size);
	int numbers[2] = {depth, 1};

	p[0] = 1;
	if (depth > 0)
		deep(depth - 1, size + 40);
	else
		qsort(numbers, 2, sizeof(numbers[0]), compare_and_raise);
	sink += p[0];
}

TEST(own_stack_against_libgcc)
{
	int i;

	n_regions = 0;
	backtrace(expected, 1); /* loads libgcc, whose mapping is new */
	n_mappings = load_self();
	own_memory = true;
	signal(SIGUSR1, on_signal);
	n_walked = 0;
	deep(12, 100);
	own_memory = false;
	CHECK(n_walked > 18);
	CHECK(n_walked <= n_expected);
	/* From the root on; the leaves differ, and a sanitizer has one more. */
	for (i = 1; i < n_walked; i++)
		CHECK_INT(walked[n_walked - i],
		    (uintptr_t)expected[n_expected - i]);
}

/*
 * A child that goes on instruction by instruction through the binding of
 * symbols, whose functions it has not called before, and through its exit: at
 * each one the walk must find the return addresses that calls have pushed.
 */
#define CALLS_MAX 64

struct pushed {
	__u64 at, address;
};

static struct {
	uint64_t steps, binding, wrong, first[8];
	struct pushed calls[CALLS_MAX];
	int n;
	__u64 ip, sp; /* of the step before */
} *stepped;

static void
steps_begin(struct unwind_state *s, const ucontext_t *uc)
{
	const greg_t *g = uc->uc_mcontext.gregs;

	memset(s, 0, offsetof(struct unwind_state, keepers));
	s->n = n_mappings;
	s->ip = (__u64)g[REG_RIP];
	s->sp = (__u64)g[REG_RSP];
	s->bp = (__u64)g[REG_RBP];
	s->bx = (__u64)g[REG_RBX];
	s->di = (__u64)g[REG_RDI];
	s->r10 = (__u64)g[REG_R10];
	s->bottom = s->sp;
}

/* What the last instruction has pushed, if it was a call, and without those
 * that have returned. */
static void
steps_follow(__u64 ip, __u64 sp)
{
	__u64 top;

	memcpy(&top, (const void *)(uintptr_t)sp, sizeof(top));
	if (sp == stepped->sp - 8 && top - stepped->ip >= 2 &&
	    top - stepped->ip <= 8 && top != ip && stepped->n < CALLS_MAX)
		stepped->calls[stepped->n++] = (struct pushed){sp, top};
	while (stepped->n > 0 && stepped->calls[stepped->n - 1].at < sp)
		stepped->n--;
	stepped->ip = ip;
	stepped->sp = sp;
}

/* Walks, and says whether it went along the calls; without them it takes what
 * it finds for them. */
static bool
steps_walk(struct unwind_state *s)
{
	static struct pushed found[CALLS_MAX];
	int n = 0, i;

	while (n < CALLS_MAX && unwind_step(s) == 0)
		found[n++] = (struct pushed){s->sp - 8, s->ip};
	if (stepped->n == 0)
		for (i = 0; i < n; i++)
			stepped->calls[stepped->n++] = found[n - 1 - i];
	if (s->error != BROKEN_NOT || n != stepped->n)
		return false;
	for (i = 0; i < n; i++)
		if (found[i].at != stepped->calls[n - 1 - i].at ||
		    found[i].address != stepped->calls[n - 1 - i].address)
			return false;
	return true;
}

/* Is it code that finds its frame by rbx?  Only the loader's does. */
static bool
steps_bind(struct unwind_state *s)
{
	struct unwind_rule rule;
	int end;

	return unwind_search(s, &rule, &end) && rule.kind == UNWIND_BX;
}

static void
on_step(int sig, siginfo_t *info, void *context)
{
	static struct unwind_state s;

	(void)sig;
	(void)info;
	steps_begin(&s, context);
	if (stepped->steps++ == 0)
		stepped->sp = s.sp;
	steps_follow(s.ip, s.sp);
	stepped->binding += steps_bind(&s);
	steps_begin(&s, context);
	if (!steps_walk(&s) && stepped->wrong++ < 8)
		stepped->first[stepped->wrong - 1] = stepped->ip;
}

/* Sets the trap flag of what it interrupts. */
static void
on_begin(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
}

static void
step_to_the_end(void)
{
	struct sigaction begin = {.sa_sigaction = on_begin,
	    .sa_flags = SA_SIGINFO}, step = {.sa_sigaction = on_step,
	    .sa_flags = SA_SIGINFO};
	const char *volatile text = "12";

	sigaction(SIGUSR2, &begin, NULL);
	sigaction(SIGTRAP, &step, NULL);
	kill(getpid(), SIGUSR2);
	/* Never called before; of the second there are several, and a function
	 * chooses. */
	sink += (int)a64l(text);
	sink += (int)strcspn(text, "2");
	exit(0);
}

TEST(each_instruction_of_binding_and_exit)
{
	int status = 0;
	size_t i;
	pid_t pid;

	stepped = mmap(NULL, sizeof(*stepped), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	n_regions = 0;
	n_mappings = load_self();
	own_memory = true;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		step_to_the_end();
	waitpid(pid, &status, 0);
	own_memory = false;
	CHECK_INT(status, 0);
	CHECK(stepped->steps > 1000);
	CHECK(stepped->binding > 50);
	CHECK_INT(stepped->wrong, 0);
	for (i = 0; i < stepped->wrong && i < 8; i++)
		printf("# of %" PRIu64 " steps, at %" PRIx64 "\n",
		    stepped->steps, stepped->first[i]);
}

int
main(void)
{
	RUN(own_stack_against_libgcc);
#ifndef __SANITIZE_ADDRESS__ /* whose own code has no rows */
	RUN(each_instruction_of_binding_and_exit);
#endif
	return test_done();
}
