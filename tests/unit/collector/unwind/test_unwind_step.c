/*
 * The step of the stack walker, which BPF programs share, as plain C, on
 * stacks made here.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>

#include "collector/unwind/unwind_rows.h"
#include "tests/unit/collector/unwind/walker_maps.h"
#include "tests/unit/test.h"

/* Made code: file 0 at 0x400000, offset 0x1000 of the file; file 1 without a
 * table at 0x500000. */
static const struct unwind_row made[] = {
    {0x1000, 3, UNWIND_SP, 0},       /* sp + 24 */
    {0x1100, 2, UNWIND_BP, 2},       /* usual frame pointer */
    {0x1200, 11, UNWIND_PLT, 0},
    {0x1300, 0, UNWIND_SIGNAL, 0},
    {0x1400, 0, UNWIND_STOP, 0},
    {0x1500, UNWIND_CFA_ZERO - 1, UNWIND_AT_BP, UNWIND_BP_AT_BP},
    {0x1600, 0, UNWIND_UNSUPPORTED, 0},
    {0x1700, 4, UNWIND_SP, 3},       /* bp at CFA - 24 */
    {0x1800, 0, UNWIND_NONE, 0},
    {0x1900, 0, UNWIND_SP, 0},       /* CFA == sp: nonsense */
    {0x1a00, 0, UNWIND_GO, 0},
    {0x1a40, 3, UNWIND_GO, 0},       /* a leaf: sp + 24 */
    {0x1a80, 3, UNWIND_GO, 2},
    {0x1b00, 0, UNWIND_R10, 0},
    {0x1c00, 0, UNWIND_DI, 0},
    {0x1c80, 1, UNWIND_DI, 0},
    {0x1d00, 4, UNWIND_SP_FAR, 2},
    {0x1e00, 0, UNWIND_ELSEWHERE, 0},
    {0x1e80, 3, UNWIND_PUSHED, 2},
    {0x1f00, 4, UNWIND_BX, 0},       /* rbx + 32 */
    {0x1f10, 4, UNWIND_BX, 5},       /* a call: saved at CFA - 40 there */
    {0x1f15, 4, UNWIND_BX, 0}};

#define B (STACK + 128) /* bp, and the return address above it */
#define R (B + 8)
#define AT(offset) (0x400000u + (offset) - 0x1000u)

static struct unwind_state
begin(__u64 ip)
{
	struct unwind_state s = {.ip = ip, .sp = STACK + 64,
	    .bp = STACK + 128, .n = 2, .tick = 700};

	n_regions = 0;

	memset(stack, 0, sizeof(stack));
	own_memory = false;
	load_rows(0, made, sizeof(made) / sizeof(made[0]), 100);
	tables[1].state = UNWIND_TABLE_PENDING;
	mappings[0] = (struct unwind_mapping){0x400000, 0x400000 - 0x1000, 1,
	    0};
	mappings[1] = (struct unwind_mapping){0x500000, 0x500000, 1, 1};
	return s;
}

static void
set(__u64 address, __u64 value)
{
	stack[(address - STACK) / 8] = value;
}

TEST(rules)
{
	struct unwind_state s = begin(AT(0x1010));

	set(STACK + 64 + 16, AT(0x1110) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1110) + 1);
	CHECK_INT(s.sp, STACK + 64 + 24);
	CHECK_INT(s.bp, STACK + 128);
	CHECK_INT(s.is_caller, 1);
	CHECK_INT(regions[0].used, 700);
	set(STACK + 128, STACK + 256); /* saved bp, return address */
	set(STACK + 136, AT(0x1700) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.sp, STACK + 144);
	CHECK_INT(s.bp, STACK + 256);
	set(STACK + 144 + 8, 0x1234);
	set(STACK + 144 + 24, AT(0x1400) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.bp, 0x1234);
	CHECK_INT(s.sp, STACK + 144 + 32);
	CHECK_INT(unwind_step(&s), 1); /* stop */
	CHECK_INT(s.error, BROKEN_NOT);
}

/* A return address behind the last instruction of a function belongs to that
 * function; an interrupted address is what it is. */
TEST(return_address_is_behind_the_call)
{
	struct unwind_state s = begin(AT(0x1100));

	s.is_caller = 1; /* the end of the function at 0x1000 */
	set(STACK + 64 + 16, AT(0x1400));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.sp, STACK + 64 + 24);
}

TEST(linkage_table)
{
	struct unwind_state s = begin(AT(0x120a));

	set(STACK + 64, AT(0x1010));
	set(STACK + 72, AT(0x1020));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1010));
	s = begin(AT(0x120b));
	set(STACK + 64, AT(0x1010));
	set(STACK + 72, AT(0x1020));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1020));
}

TEST(frame_of_more_than_half_a_megabyte)
{
	struct unwind_state s = begin(AT(0x1d10));

	s.sp = STACK + 64 - 8 * UNWIND_CFA_FAR;
	set(STACK + 64 + 16, 0x1234);
	set(STACK + 64 + 24, AT(0x1410) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1410) + 1);
	CHECK_INT(s.sp, STACK + 64 + 32);
	CHECK_INT(s.bp, 0x1234);
}

/* Before it is aligned the CFA is in a register, whose value in a caller is not
 * known. */
TEST(stack_that_is_being_aligned)
{
	struct unwind_state s = begin(AT(0x1b10));

	s.r10 = STACK + 256;
	set(STACK + 248, AT(0x1b10) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.sp, STACK + 256);
	CHECK_INT(s.ip, AT(0x1b10) + 1);
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_UNSUPPORTED);
	s = begin(AT(0x1b10)); /* of a copy of a stack */
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_UNSUPPORTED);
}

/* vfork() has its return address in a register: its child has the stack. */
TEST(return_address_in_a_register)
{
	struct unwind_state s = begin(AT(0x1c10));

	s.di = AT(0x1c90);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1c90));
	CHECK_INT(s.sp, STACK + 64);
	CHECK_INT(s.bp, STACK + 128);
	CHECK_INT(unwind_step(&s), 1); /* a caller's register is not known */
	CHECK_INT(s.error, BROKEN_UNSUPPORTED);
	s = begin(AT(0x1c90));
	s.di = AT(0x1010);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1010));
	CHECK_INT(s.sp, STACK + 72);
	s = begin(AT(0x1c10));
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_UNSUPPORTED);
}

/* A leaf that binds a symbol, and what it called: which has saved rbx or has
 * not come to that yet. */
TEST(frame_by_rbx)
{
	static const struct {
		__u64 ip, bx, saved, bottom;
		__u8 is_caller, error;
	} cases[] = {
	    {AT(0x1f05), STACK + 256, 0, STACK + 64, 0, BROKEN_NOT},
	    {AT(0x1f12), STACK + 256, 0, STACK + 64, 0, BROKEN_NOT},
	    {AT(0x1f15), 0x1234, STACK + 256, STACK + 24, 1, BROKEN_NOT},
	    {AT(0x1f15), 0, STACK + 256, 0, 1, BROKEN_NOT},
	    {AT(0x1f15), STACK + 256, 0x1234, STACK + 32, 1, BROKEN_NOT},
	    {AT(0x1f15), STACK + 256, 0x1234, 0, 1, BROKEN_BAD_STACK},
	    {AT(0x1f15), 0, STACK + 72 + UNWIND_BX_MAX, 0, 1,
	        BROKEN_BAD_STACK},
	    {AT(0x1f20), STACK + 256, STACK + 256, 0, 1,
	        BROKEN_UNSUPPORTED}};
	struct unwind_state s;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = begin(cases[i].ip);
		s.bx = cases[i].bx;
		s.bottom = cases[i].bottom;
		s.is_caller = cases[i].is_caller;
		set(STACK + 24, cases[i].saved);
		set(STACK + 280, AT(0x1410) + 1);
		CHECK_INT(unwind_step(&s), cases[i].error != BROKEN_NOT);
		CHECK_INT(s.error, cases[i].error);
		if (cases[i].error != BROKEN_NOT)
			continue;
		CHECK_INT(s.ip, AT(0x1410) + 1);
		CHECK(s.sp == STACK + 288 && s.bp == STACK + 128);
	}
}

TEST(aligned_stack)
{
	struct unwind_state s = begin(AT(0x1510));

	set(STACK + 120, STACK + 512); /* *(bp - 8): the CFA */
	set(STACK + 128, 0x77);        /* *bp */
	set(STACK + 504, AT(0x1400) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.bp, 0x77);
	CHECK_INT(s.sp, STACK + 512);
	CHECK_INT(s.ip, AT(0x1400) + 1);
}

TEST(signal_frame)
{
	struct unwind_state s = begin(AT(0x1301));

	s.is_caller = 1;
	s.r10 = s.di = 1; /* of another leaf */
	set(STACK + 64 + 120, 0x55);
	set(STACK + 64 + 128, 0x77);
	set(STACK + 64 + 160, STACK + 8); /* another stack, lower */
	set(STACK + 64 + 168, AT(0x1100));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.bp, 0x55);
	CHECK_INT(s.sp, STACK + 8);
	CHECK_INT(s.ip, AT(0x1100));
	CHECK_INT(s.is_caller, 0); /* interrupted, not called */
	CHECK_INT(unwind_noted(&s, 2), AT(0x1101)); /* as a caller's */
	CHECK_INT(unwind_noted(&s, 0), AT(0x1100));
	s.is_caller = 1;
	CHECK_INT(unwind_noted(&s, 2), AT(0x1100));
	CHECK_INT(s.bx, 0x77);
	CHECK_INT(s.bottom, STACK + 8);
	CHECK(s.r10 == 0 && s.di == 0);
}

/* Go's asyncPreempt(): its call is not behind an instruction, and what it
 * interrupted at its first one has its return address at sp. */
TEST(a_pushed_call_leads_to_a_leaf)
{
	struct unwind_state s = begin(AT(0x1e90));

	s.is_caller = 1;
	s.di = s.r10 = 1;
	set(STACK + 64 + 8, 0x1234);
	set(STACK + 64 + 16, AT(0x1a40));
	set(STACK + 64 + 24 + 16, AT(0x1410) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1a40));
	CHECK_INT(s.bp, 0x1234);
	CHECK_INT(s.is_caller, 0);
	CHECK_INT(s.bottom, STACK + 64 + 24);
	CHECK(s.r10 == 0 && s.di == 0);
	CHECK_INT(unwind_step(&s), 0); /* by sp: its caller is not missing */
	CHECK_INT(s.ip, AT(0x1410) + 1);
	CHECK_INT(s.sp, STACK + 64 + 48);
}

TEST(errors)
{
	static const struct {
		__u64 ip;
		__u64 sp;
		__u8 is_caller, error;
	} cases[] = {
	    {0x300000, STACK, 1, BROKEN_NO_MAPPING},
	    {0x401001, STACK, 1, BROKEN_NO_MAPPING},
	    {AT(0x1610), STACK, 0, BROKEN_UNSUPPORTED},
	    {AT(0x1e10), STACK, 1, BROKEN_ELSEWHERE},
	    {AT(0x1910), STACK, 0, BROKEN_BAD_STACK},
	    {AT(0x1010), 0x1000, 0, BROKEN_UNREADABLE}};
	struct unwind_state s;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = begin(cases[i].ip);
		s.sp = cases[i].sp;
		s.is_caller = cases[i].is_caller;
		CHECK_INT(unwind_step(&s), 1);
		CHECK_INT(s.error, cases[i].error);
	}
}

TEST(return_probes)
{
	struct unwind_state s = begin(AT(0x1010));

	s.trampoline = 0x7fffffffe000;
	hidden = AT(0x1110);
	set(STACK + 64 + 16, 0x7fffffffe000);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1110));
	s = begin(AT(0x1010));
	s.trampoline = 0x7fffffffe000;
	hidden = 0;
	set(STACK + 64 + 16, 0x7fffffffe000);
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_TRAMPOLINE);
	s = begin(0x7fffffffe000); /* in the trampoline itself */
	s.trampoline = 0x7fffffffe000;
	CHECK_INT(unwind_begin(&s), 1);
	CHECK_INT(s.error, BROKEN_TRAMPOLINE);
	s = begin(0x7fffffffe00d); /* behind its system call */
	s.trampoline = 0x7fffffffe000;
	hidden = AT(0x1010);
	CHECK_INT(unwind_begin(&s), 0);
	CHECK_INT(s.ip, AT(0x1010));
	CHECK_INT(s.sp, STACK + 64 + 24);
	s = begin(0x7fffffffe084); /* behind the copy of an instruction */
	s.trampoline = 0x7fffffffe000;
	s.stepped = AT(0x1010);
	CHECK_INT(unwind_begin(&s), 0);
	CHECK_INT(s.ip, AT(0x1010));
	CHECK_INT(s.sp, STACK + 64);
}

TEST(frame_pointers)
{
	struct unwind_state s = begin(0x500010);

	set(STACK + 128, 0);
	set(STACK + 136, 0x500020);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, 0x500020);
	CHECK_INT(s.sp, STACK + 144);
	CHECK_INT(s.pending, 1); /* a table is to come */
	CHECK_INT(unwind_step(&s), 1); /* bp 0: the end */
	CHECK_INT(s.error, BROKEN_NOT);
	s = begin(0x500010);
	mappings[1].table = UNWIND_NO_TABLE;
	s.bp = STACK; /* below the stack pointer */
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_BAD_STACK);
	CHECK_INT(s.pending, 0);
	s = begin(0x500010);
	mappings[1].table = UNWIND_NO_ROOM; /* there may be rows */
	s.bp = 0;
	s.bx = 6;
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.pending, 1);
	CHECK_INT(s.lacking.bx, 6);
}

/* A thread is where its leaf is: what is not known is the mapping. */
TEST(a_leaf_in_no_known_mapping_has_callers)
{
	struct unwind_state s = begin(0x300000);

	set(STACK + 128, 0);
	set(STACK + 136, AT(0x1110));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1110));
	CHECK_INT(s.error, BROKEN_NOT);
	CHECK_INT(s.pending, 1);
}

/* bp 0 is where the chain ends that began with it: not in a leaf, where it is
 * a register like others, and not in code that a JIT made, where no thread
 * begins. */
TEST(a_jit_with_a_zero_frame_pointer_is_not_whole)
{
	struct unwind_state s = begin(0x500010);

	mappings[1].table = UNWIND_NO_TABLE;
	s.bp = 0;
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NO_ROW);
	s = begin(0x500010);
	mappings[1].table = UNWIND_NO_TABLE;
	set(STACK + 128, 0);
	set(STACK + 136, 0x500020);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NO_ROW);
	s = begin(0x500010); /* of a file: a leaf is none, either */
	tables[mappings[1].table].state = UNWIND_TABLE_NONE;
	s.bp = 0;
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NO_ROW);
}

/* bp leads from a thread's own stack back to the goroutine's, which may be
 * below it; 0 is where a goroutine begins. */
TEST(go_changes_stacks)
{
	struct unwind_state s = begin(AT(0x1a10));

	s.sp = STACK + 1024;
	set(B, STACK + 32);
	set(R, AT(0x1a20));
	set(STACK + 32, 0);
	set(STACK + 40, AT(0x1a30));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1a20));
	CHECK_INT(s.sp, STACK + 144);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1a30));
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NOT);
	s = begin(AT(0x1a10)); /* a leaf is no beginning */
	s.bp = 0;
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NO_ROW);
	s = begin(AT(0x1a10));
	s.bp = 0x1000;
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_UNREADABLE);
}

/* One without a frame has its caller's bp; in one with a frame bp may be any
 * number; a frame may have been made for it by its caller (duffcopy). */
TEST(go_leaf_by_its_depth)
{
	struct unwind_state s = begin(AT(0x1a50));

	set(STACK + 64 + 16, AT(0x1a60));
	set(B, STACK + 256);
	set(R, AT(0x1a70));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1a60));
	CHECK_INT(s.sp, STACK + 64 + 24);
	CHECK_INT(s.bp, B);
	CHECK_INT(unwind_step(&s), 0); /* a caller, by its frame */
	CHECK_INT(s.ip, AT(0x1a70));
	CHECK_INT(s.sp, R + 8);
	CHECK_INT(s.bp, STACK + 256);
	s = begin(AT(0x1a90));
	s.bp = 17;
	set(STACK + 64 + 8, B);
	set(STACK + 64 + 16, AT(0x1a60));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1a60));
	CHECK_INT(s.bp, B);
	s = begin(AT(0x1a50));
	s.bp = STACK + 64 + 8;
	set(STACK + 64 + 8, B);
	set(STACK + 64 + 16, AT(0x1a60));
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(s.ip, AT(0x1a60));
	CHECK_INT(s.bp, B);
}

/* The mapping before the last one is found again without a search, with what
 * was known of it. */
TEST(two_mappings_in_turn)
{
	struct unwind_state s = begin(AT(0x1010));
	int i;

	tables[1].state = UNWIND_TABLE_NONE;
	for (i = 0; i < 4; i++) {
		CHECK_INT(unwind_find_mapping(&s, AT(0x1010)), 1);
		CHECK_INT(s.place.which, 0);
		CHECK_INT(unwind_find_region(&s, 0x1010), 1);
		CHECK_INT(unwind_find_mapping(&s, 0x500010), 1);
		CHECK_INT(s.place.which, 1);
		CHECK_INT(s.place.state, UNWIND_TABLE_NONE);
		s.n = i == 1 ? 0 : s.n; /* nothing can be searched */
	}
	CHECK_INT(unwind_find_mapping(&s, 0x600000), 0);
	CHECK_INT(s.place.which, 1);
}

/* What many samples meet is written to now and then only. */
TEST(the_clock_of_a_region_goes_in_steps)
{
	struct unwind_state s = begin(AT(0x1010));

	regions[0].used = 690;
	CHECK_INT(unwind_find_mapping(&s, AT(0x1010)), 1);
	CHECK_INT(unwind_find_region(&s, 0x1010), 1);
	CHECK_INT(regions[0].used, 690);
	s.place.at = s.place.n;
	s.tick = 690 + UNWIND_TICK_STEP + 1;
	CHECK_INT(unwind_find_region(&s, 0x1010), 1);
	CHECK_INT(regions[0].used, 690 + UNWIND_TICK_STEP + 1);
}

TEST(gaps_are_guessed)
{
	struct unwind_state s = begin(AT(0x1810));

	set(STACK + 136, AT(0x1400) + 1);
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NOT);
	s = begin(AT(0x1810));
	set(STACK + 136, 0x12345678); /* led nowhere: a wrong guess */
	CHECK_INT(unwind_step(&s), 0);
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NO_ROW);
	s = begin(AT(0x1810));
	s.bp = 0;
	CHECK_INT(unwind_step(&s), 1);
	CHECK_INT(s.error, BROKEN_NO_ROW);
}

/* A thread begins where tables say so or where a frame pointer is 0, in code
 * that keeps them: a return address of 0 that bp led to is neither, and code
 * whose rows do not fit mostly keeps none. */
TEST(only_true_starts_end_a_stack)
{
	static const struct {
		__u64 ip, bp, at, caller;
		__u32 state;
		__u8 error;
	} cases[] = {
	    {0x500010, B, R, 0, UNWIND_TABLE_NO_FILE, BROKEN_NO_ROW},
	    {0x500010, B, R, 0, UNWIND_TABLE_NONE, BROKEN_NO_ROW},
	    {0x500010, B, R, 0, UNWIND_TABLE_TOO_LARGE, BROKEN_TOO_LARGE},
	    {0x500010, B, R, AT(0x1810), UNWIND_TABLE_TOO_LARGE,
	        BROKEN_TOO_LARGE},
	    {0x500010, B, R, AT(0x1401), UNWIND_TABLE_TOO_LARGE, BROKEN_NOT},
	    {AT(0x1010), 0, STACK + 80, 0x500020, UNWIND_TABLE_TOO_LARGE,
	        BROKEN_TOO_LARGE},
	    {AT(0x1810), B, R, 0, 0, BROKEN_NO_ROW},
	    {AT(0x1301), B, R, 0, 0, BROKEN_NO_MAPPING}, /* a null pointer */
	    {AT(0x1010), B, R, 0, 0, BROKEN_NOT}}; /* by tables: made so */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_state s = begin(cases[i].ip);

		tables[1].state = cases[i].state;
		s.bp = cases[i].bp;
		set(cases[i].at, cases[i].caller);
		while (unwind_step(&s) == 0)
			continue;
		CHECK_INT(s.error, cases[i].error);
	}
}

static uint64_t
random64(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* The index finds what a look at every row finds. */
TEST(index_against_all_rows)
{
	static struct unwind_row rows[20000];
	struct unwind_state s = {0};
	uint64_t seed = 88172645463325252u, spread, pc, ask;
	const struct unwind_row *got, *next;
	uint32_t n, i, k, want;
	int round;

	for (round = 0; round < 60; round++) {
		n = 1 + (uint32_t)(random64(&seed) % (round < 30 ? 40 :
		    20000));
		spread = 1 + random64(&seed) % (round % 3 == 0 ? 3 : 3000);
		pc = random64(&seed) % 100000;
		for (i = 0; i < n; i++) {
			rows[i] = (struct unwind_row){(__u32)pc, (__u16)i,
			    UNWIND_SP, 0};
			pc += 1 + random64(&seed) % spread;
		}
		n_regions = 0;
		load_rows(2, rows, n, 5000);
		s.place.base = rows[0].pc;
		s.place.cell = regions[0].first;
		s.place.rows = regions[0].rows;
		s.place.buckets = regions[0].buckets;
		s.place.row_shift = regions[0].shift;
		for (k = 0; k < 2000; k++) {
			ask = rows[0].pc + random64(&seed) % (pc + 200 -
			    rows[0].pc);
			ask -= k % 7 == 0 ? 100 : 0;
			for (want = 0; want < n && rows[want].pc <= ask;)
				want += want + 64 < n &&
				    rows[want + 64].pc <= ask ? 64 : 1;
			next = 0;
			got = ask < rows[0].pc ? NULL :
			    unwind_find_row(&s, (__u32)ask, &next);
			/* Behind the last bucket there is nothing. */
			if (got == NULL && want == n)
				continue;
			CHECK_INT(got == NULL ? 0 : got->cfa + 1u, want);
			CHECK_INT(got != NULL && next != NULL ? next->pc : 0,
			    want > 0 && want < n ? rows[want].pc : 0);
			if (test_bad > 3)
				return;
		}
	}
}

/* A file of functions one behind the other, whose rules are usual ones. */
#define PUSH_CACHE_FUNCTIONS 200
#define PUSH_CACHE_STEP 64

static void
load_functions(uint32_t t, uint64_t *seed, uint32_t first)
{
	static struct unwind_row rows[3 * PUSH_CACHE_FUNCTIONS];
	uint32_t i, n = 0;

	for (i = 0; i < PUSH_CACHE_FUNCTIONS; i++) {
		__u32 pc = 0x1000 + i * PUSH_CACHE_STEP;
		__u16 words = (__u16)(2 + random64(seed) % 5);

		rows[n++] = (struct unwind_row){pc, 1, UNWIND_SP, 0};
		rows[n++] = (struct unwind_row){pc + 4, words, UNWIND_SP,
		    random64(seed) % 3 == 0 ? 2 : 0};
		if (random64(seed) % 8 == 0)
			rows[n - 1] = (struct unwind_row){pc + 4, 12,
			    random64(seed) % 2 ? UNWIND_PLT : UNWIND_NONE, 0};
		rows[n++] = (struct unwind_row){pc + PUSH_CACHE_STEP - 4,
		    random64(seed) % 40 == 0 ? 0 : words,
		    random64(seed) % 40 == 0 ? UNWIND_STOP : UNWIND_SP, 0};
	}
	/* Cut so that rows of one are met from regions that are not there. */
	load_cut(t, rows, n, first, 10, t == 0 ? 5 : 0);
}

static __u64
random_code(uint64_t *seed)
{
	__u64 base = random64(seed) % 50 == 0 ? 0x500000 : 0x400000;

	return base + random64(seed) % (PUSH_CACHE_FUNCTIONS * PUSH_CACHE_STEP);
}

struct walk {
	__u64 ip[64], sp, bp;
	int n;
	__u8 error, pending;
};

/* Walks as the BPF program does. */
static void
walk(struct unwind_state *s, const struct unwind_state *from, __u32 tid,
    struct walk *out)
{
	s->ip = from->ip;
	s->sp = from->sp;
	s->bp = from->bp;
	s->first = from->first;
	s->n = 2;
	s->now_s = from->now_s;
	s->is_caller = 0;
	s->error = BROKEN_NOT;
	s->pending = s->guessed = 0;
	unwind_keep_begin(s, tid);
	out->n = 0;
	do
		out->ip[out->n++] = s->ip;
	while (out->n < 64 && unwind_step(s) == 0);
	unwind_keep_end(s, tid);
	out->sp = s->sp;
	out->bp = s->bp;
	out->error = s->error;
	out->pending = s->pending;
}

/* A little of the stack, or of the registers, becomes another. */
static void
change(struct unwind_state *s, uint64_t *seed)
{
	unsigned i, n = (unsigned)(random64(seed) % 4);

	if (random64(seed) % 20 == 0)
		n = 256;
	for (i = 0; i < n; i++)
		stack[random64(seed) % 256] = random64(seed) % 6 == 0 ?
		    STACK + 8 * (random64(seed) % 256) : random_code(seed);
	if (random64(seed) % 3 == 0)
		s->ip = random_code(seed);
	else if (random64(seed) % 3 == 0)
		s->ip ^= random64(seed) % 32;
	if (random64(seed) % 4 == 0)
		s->sp = STACK + 8 * (random64(seed) % 40);
	if (random64(seed) % 10 == 0)
		s->bp = STACK + 8 * (random64(seed) % 256);
	if (random64(seed) % 30 == 0) /* another list, other rules */
		s->first ^= 4;
	s->now_s += random64(seed) % 50 == 0;
}

/* What was kept changes no walk, whatever the stack, the thread, the list of
 * mappings; and it saves most of the searching. */
TEST(kept_rules_change_nothing)
{
	static struct unwind_state keeping, fresh, from;
	uint64_t seed = 88172645463325252u, with = 0, without = 0, began;
	struct walk a, b;
	__u32 tid, i;
	int round;

	own_memory = false;
	n_regions = 0;
	load_functions(0, &seed, 100);
	load_functions(1, &seed, 5000);
	tables[2].state = UNWIND_TABLE_PENDING;
	for (i = 0; i < 2; i++) {
		mappings[4 * i] =
		    (struct unwind_mapping){0x400000, 0x400000 - 0x1000,
			PUSH_CACHE_FUNCTIONS * PUSH_CACHE_STEP / 4096 + 1, i};
		mappings[4 * i + 1] =
		    (struct unwind_mapping){0x500000, 0x500000 - 0x1000,
			PUSH_CACHE_FUNCTIONS * PUSH_CACHE_STEP / 4096 + 1,
			i == 0 ? 2 : 0};
	}
	from.sp = STACK;
	for (round = 0; round < 200000 && test_bad < 3; round++) {
		change(&from, &seed);
		tid = (__u32)(random64(&seed) % 10 == 0 ?
		    random64(&seed) % 20 : 3);
		began = cells_read;
		walk(&keeping, &from, tid, &a);
		with += cells_read - began;
		began = cells_read;
		memset(&fresh, 0, sizeof(fresh));
		walk(&fresh, &from, tid, &b);
		without += cells_read - began;
		CHECK_INT(a.n, b.n);
		CHECK(memcmp(a.ip, b.ip, (size_t)b.n * sizeof(b.ip[0])) == 0);
		CHECK(a.sp == b.sp && a.bp == b.bp);
		CHECK_INT(a.error, b.error);
		CHECK_INT(a.pending, b.pending);
	}
	CHECK(without > 1000000);
	CHECK(3 * with < 2 * without);
}

TEST(kept_leaf_ends_with_its_row)
{
	struct unwind_state s = begin(AT(0x1050)), again;

	set(STACK + 64 + 16, AT(0x1410));
	unwind_keep_begin(&s, 1);
	CHECK_INT(unwind_step(&s), 0);
	unwind_keep_end(&s, 1);
	again = s;
	again.is_caller = 0;
	again.ip = AT(0x10ff); /* the row's last byte */
	again.sp = STACK + 64;
	unwind_keep_begin(&again, 1);
	cells_read = 0;
	CHECK_INT(unwind_step(&again), 0);
	CHECK_INT(cells_read, 0);
	CHECK_INT(again.sp, STACK + 64 + 24);
	again = s;
	again.is_caller = 0;
	again.ip = AT(0x1100); /* the next row */
	again.bp = STACK + 128;
	set(STACK + 136, AT(0x1410));
	unwind_keep_begin(&again, 1);
	CHECK_INT(unwind_step(&again), 0);
	CHECK_INT(again.sp, STACK + 144);
}

int
main(void)
{
	RUN(rules);
	RUN(return_address_is_behind_the_call);
	RUN(linkage_table);
	RUN(frame_of_more_than_half_a_megabyte);
	RUN(stack_that_is_being_aligned);
	RUN(return_address_in_a_register);
	RUN(frame_by_rbx);
	RUN(aligned_stack);
	RUN(signal_frame);
	RUN(a_pushed_call_leads_to_a_leaf);
	RUN(errors);
	RUN(return_probes);
	RUN(frame_pointers);
	RUN(a_leaf_in_no_known_mapping_has_callers);
	RUN(a_jit_with_a_zero_frame_pointer_is_not_whole);
	RUN(go_changes_stacks);
	RUN(go_leaf_by_its_depth);
	RUN(two_mappings_in_turn);
	RUN(the_clock_of_a_region_goes_in_steps);
	RUN(gaps_are_guessed);
	RUN(only_true_starts_end_a_stack);
	RUN(index_against_all_rows);
	RUN(kept_rules_change_nothing);
	RUN(kept_leaf_ends_with_its_row);
	return test_done();
}
