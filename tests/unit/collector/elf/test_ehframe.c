/*
 * The reader of .eh_frame: sections put together here entry by entry, then
 * cut and damaged in every place.
 */
#include <stdlib.h>

#include "collector/elf/ehframe.h"
#include "tests/unit/test.h"

#define VADDR 0x9000u   /* of the section */
#define CODE 0x401000u  /* virtual address of the code ... */
#define OFFSET 0x1000u  /* ... and its place in the file */
#define CODE_SIZE 0x2000u

struct section {
	uint8_t b[8192];
	size_t n, begin; /* begin: of the open entry */
};

static void
put(struct section *s, const void *p, size_t n)
{
	memcpy(s->b + s->n, p, n);
	s->n += n;
}

static void
put4(struct section *s, uint32_t v)
{
	put(s, &v, 4);
}

#define PUT(s, ...) put(s, (const uint8_t[]){__VA_ARGS__}, \
	sizeof((const uint8_t[]){__VA_ARGS__}))

static void
entry_end(struct section *s)
{
	uint32_t length;

	while ((s->n - s->begin) % 8 != 4)
		PUT(s, 0);
	length = (uint32_t)(s->n - s->begin - 4);
	memcpy(s->b + s->begin, &length, 4);
}

/* As gcc writes it: "zR" or "zRS", code 1, data -8, RA 16, pc-relative signed
 * 4 bytes; CFA = rsp + 8, RA at CFA - 8. */
static size_t
put_cie(struct section *s, const char *letters)
{
	s->begin = s->n;
	put4(s, 0);
	put4(s, 0);
	PUT(s, 1);
	put(s, letters, strlen(letters) + 1);
	PUT(s, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1);
	entry_end(s);
	return s->begin;
}

static void
begin_fde(struct section *s, size_t cie, uint32_t at, uint32_t size)
{
	s->begin = s->n;
	put4(s, 0);
	put4(s, (uint32_t)(s->n - cie));
	put4(s, CODE + at - (VADDR + (uint32_t)s->n));
	put4(s, size);
	PUT(s, 0);
}

static const struct ehframe_segment code = {CODE, OFFSET, CODE_SIZE};

static unsigned saved; /* the register whose place is asked for */

static enum ehframe_status
read_section(const struct section *s, bool exact, struct ehframe_rows *out)
{
	/* Exactly as large, so that a sanitizer sees a read behind it. */
	uint8_t *p = malloc(s->n);
	struct ehframe_input in = {.bytes = p, .size = s->n, .vaddr = VADDR,
	    .exact = exact, .segments = &code, .n_segments = 1,
	    .max_rows = 100000, .saved = saved};
	enum ehframe_status status;

	memcpy(p, s->b, s->n);
	status = ehframe_read(&in, out);
	free(p);
	return status;
}

/* Row i in words: "pc kind cfa bp". */
static const char *
row(const struct ehframe_rows *r, size_t i)
{
	static const char *const kinds[UNWIND_KINDS] = {"none", "sp", "bp",
	    "plt", "at-sp", "at-bp", "signal", "stop", "unsupported",
	    "go", "r10", "di", "sp-far", "bx"};
	static char text[64];

	if (i >= r->n)
		return "no row";
	snprintf(text, sizeof(text), "%x %s %d %d", r->rows[i].pc - OFFSET,
	    kinds[r->rows[i].kind], r->rows[i].cfa, r->rows[i].bp);
	return text;
}

TEST(frame_pointer_function)
{
	struct section s = {0};
	struct ehframe_rows r;

	begin_fde(&s, put_cie(&s, "zR"), 0x100, 0x40);
	/* push %rbp; mov %rsp, %rbp; ...; leave; ret */
	PUT(&s, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x3b, 0xc6,
	    0x0c, 7, 8);
	entry_end(&s);
	put4(&s, 0);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_INT(r.n, 5);
	CHECK_STR(row(&r, 0), "100 sp 1 0");
	CHECK_STR(row(&r, 1), "101 sp 2 2");
	CHECK_STR(row(&r, 2), "104 bp 2 2");
	CHECK_STR(row(&r, 3), "13f sp 1 0");
	CHECK_STR(row(&r, 4), "140 none 0 0");
	free(r.rows);
}

/* rustc's driver has a frame of 540,080 bytes. */
TEST(large_frames)
{
	struct section s = {0};
	struct ehframe_rows r;

	begin_fde(&s, put_cie(&s, "zR"), 0, 0x20);
	PUT(&s, 0x0e, 0xf8, 0xff, 0x1f, 0x41, 0x0e, 0x80, 0x80, 0x20, 0x41,
	    0x0e, 0xb0, 0xfb, 0x20, 0x41, 0x0e, 0xf8, 0xff, 0x3f, 0x41,
	    0x0e, 0x80, 0x80, 0x40);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_STR(row(&r, 0), "0 sp 65535 0");
	CHECK_STR(row(&r, 1), "1 sp-far 0 0");
	CHECK_STR(row(&r, 2), "2 sp-far 1974 0");
	CHECK_STR(row(&r, 3), "3 sp-far 65535 0");
	CHECK_STR(row(&r, 4), "4 unsupported 0 0");
	free(r.rows);
}

/* As the loader binds symbols, and as a function that saves registers: push
 * %rbp; push %rbx; ...; the places of one register at once. */
TEST(frame_by_rbx)
{
	struct section s = {0};
	size_t cie = put_cie(&s, "zR");
	struct ehframe_rows r;

	begin_fde(&s, cie, 0, 0x20);
	PUT(&s, 0x41, 0x0e, 32, 0x83, 4, 0x43, 0x0d, 3, 0x50, 0x0d, 7);
	entry_end(&s);
	begin_fde(&s, cie, 0x20, 0x20);
	PUT(&s, 0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0e, 24, 0x83, 3, 0x50, 0xc3);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_STR(row(&r, 0), "0 sp 1 0");
	CHECK_STR(row(&r, 1), "1 sp 4 0");
	CHECK_STR(row(&r, 2), "4 bx 4 0");
	CHECK_STR(row(&r, 3), "14 sp 4 0");
	CHECK_STR(row(&r, 4), "20 sp 1 0");
	CHECK_STR(row(&r, 5), "21 sp 2 2");
	CHECK_STR(row(&r, 6), "22 sp 3 2");
	CHECK_STR(row(&r, 7), "40 none 0 0");
	free(r.rows);
	saved = 3;
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	saved = 0;
	CHECK_STR(row(&r, 1), "1 sp 4 4");
	CHECK_STR(row(&r, 2), "4 unsupported 0 0");
	CHECK_STR(row(&r, 4), "20 sp 1 0");
	CHECK_STR(row(&r, 5), "21 sp 2 0");
	CHECK_STR(row(&r, 6), "22 sp 3 3");
	CHECK_STR(row(&r, 7), "32 sp 3 0");
	free(r.rows);
}

TEST(state_is_remembered)
{
	struct section s = {0};
	struct ehframe_rows r;

	begin_fde(&s, put_cie(&s, "zR"), 0, 0x20);
	PUT(&s, 0x41, 0x0e, 32, 0x41, 0x0a, 0x0e, 8, 0x41, 0x0b);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_STR(row(&r, 0), "0 sp 1 0");
	CHECK_STR(row(&r, 1), "1 sp 4 0");
	CHECK_STR(row(&r, 2), "2 sp 1 0");
	CHECK_STR(row(&r, 3), "3 sp 4 0");
	free(r.rows);
}

TEST(expressions)
{
	struct section s = {0};
	struct ehframe_rows r;
	size_t cie = put_cie(&s, "zR");

	begin_fde(&s, cie, 0, 0x20); /* the linkage table's */
	PUT(&s, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33,
	    0x24, 0x22);
	entry_end(&s);
	begin_fde(&s, cie, 0x20, 0x20); /* an aligned stack */
	PUT(&s, 0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0);
	entry_end(&s);
	begin_fde(&s, cie, 0x40, 0x20); /* *(rsp + 16) */
	PUT(&s, 0x0f, 3, 0x77, 16, 6);
	entry_end(&s);
	begin_fde(&s, cie, 0x60, 0x10); /* r10, before the stack is aligned */
	PUT(&s, 0x0c, 10, 0);
	entry_end(&s);
	begin_fde(&s, cie, 0x70, 0x10); /* r11 */
	PUT(&s, 0x0c, 11, 0);
	entry_end(&s);
	begin_fde(&s, cie, 0x80, 0x20); /* the thread's first function */
	PUT(&s, 0x07, 16);
	entry_end(&s);
	begin_fde(&s, cie, 0xa0, 0x20); /* vfork() */
	PUT(&s, 0x41, 0x0e, 0, 0x09, 16, 5, 0x48, 0x0e, 8);
	entry_end(&s);
	begin_fde(&s, cie, 0xc0, 0x20); /* the same with another register */
	PUT(&s, 0x09, 16, 4);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_STR(row(&r, 0), "0 plt 11 0");
	CHECK_STR(row(&r, 1), "20 at-bp 32767 255");
	CHECK_STR(row(&r, 2), "40 at-sp 32770 0");
	CHECK_STR(row(&r, 3), "60 r10 0 0");
	CHECK_STR(row(&r, 4), "70 unsupported 0 0");
	CHECK_STR(row(&r, 5), "80 stop 0 0");
	CHECK_STR(row(&r, 6), "a0 sp 1 0");
	CHECK_STR(row(&r, 7), "a1 di 0 0");
	CHECK_STR(row(&r, 8), "a9 di 1 0");
	CHECK_STR(row(&r, 9), "c0 unsupported 0 0");
	CHECK_INT(r.unsupported, 2);
	free(r.rows);
}

TEST(signal_frame)
{
	struct section s = {0};
	struct ehframe_rows r;

	begin_fde(&s, put_cie(&s, "zRS"), 0, 0x20);
	PUT(&s, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77, 0xa8, 1);
	entry_end(&s);
	begin_fde(&s, put_cie(&s, "zRS"), 0x20, 0x20); /* another layout */
	PUT(&s, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3, 0x77, 0xb0, 1);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_STR(row(&r, 0), "0 signal 0 0");
	CHECK_STR(row(&r, 1), "20 unsupported 0 0");
	free(r.rows);
}

TEST(order_gaps_and_overlaps)
{
	struct section s = {0};
	struct ehframe_rows r;
	size_t cie = put_cie(&s, "zR");

	begin_fde(&s, cie, 0x200, 0x10);
	PUT(&s, 0x0e, 24);
	entry_end(&s);
	begin_fde(&s, cie, 0x100, 0xf1); /* ends 15 bytes before 0x200 */
	entry_end(&s);
	begin_fde(&s, cie, 0x220, 0x40); /* a gap of 16 before it */
	PUT(&s, 0x0e, 16, 0x60, 0x0e, 40);
	entry_end(&s);
	begin_fde(&s, cie, 0x230, 0x10); /* within the one before */
	PUT(&s, 0x0e, 32);
	entry_end(&s);
	begin_fde(&s, cie, CODE_SIZE + 0x100, 0x10); /* no code there */
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_INT(r.n, 6);
	CHECK_STR(row(&r, 0), "100 sp 1 0");
	CHECK_STR(row(&r, 1), "200 sp 3 0");
	CHECK_STR(row(&r, 2), "210 none 0 0");
	CHECK_STR(row(&r, 3), "220 sp 2 0");
	CHECK_STR(row(&r, 4), "230 sp 4 0");
	CHECK_STR(row(&r, 5), "240 none 0 0");
	free(r.rows);
}

TEST(end_of_the_section)
{
	struct section s = {0};
	struct ehframe_rows r;
	size_t cie = put_cie(&s, "zR");

	put4(&s, 0); /* an end that a linker left in the middle */
	begin_fde(&s, cie, 0, 0x10);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_INT(r.functions, 1);
	free(r.rows);
	CHECK_INT(read_section(&s, false, &r), EHFRAME_OK);
	CHECK_INT(r.functions, 0);
	free(r.rows);
}

TEST(unknown_instructions_end_a_function)
{
	struct section s = {0};
	struct ehframe_rows r;
	size_t cie = put_cie(&s, "zR");

	begin_fde(&s, cie, 0, 0x20);
	PUT(&s, 0x0e, 16, 0x44, 0x3f);
	entry_end(&s);
	begin_fde(&s, cie, 0x20, 0x20);
	entry_end(&s);
	CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
	CHECK_STR(row(&r, 0), "0 sp 2 0");
	CHECK_STR(row(&r, 1), "4 unsupported 0 0");
	CHECK_STR(row(&r, 2), "20 sp 1 0");
	free(r.rows);
}

TEST(too_many_rows)
{
	struct section s = {0};
	struct ehframe_rows r;
	struct ehframe_input in = {.bytes = s.b, .vaddr = VADDR,
	    .segments = &code, .n_segments = 1, .max_rows = 2};

	begin_fde(&s, put_cie(&s, "zR"), 0, 0x20);
	PUT(&s, 0x41, 0x0e, 16, 0x41, 0x0e, 24, 0x41, 0x0e, 32);
	entry_end(&s);
	in.size = s.n;
	CHECK_INT(ehframe_read(&in, &r), EHFRAME_TOO_BIG);
	CHECK(r.rows == NULL && r.n == 0);
}

static void
put_all(struct section *s)
{
	size_t cie = put_cie(s, "zR");

	begin_fde(s, cie, 0x100, 0x40);
	PUT(s, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 0x3b,
	    0xc6, 0x0c, 7, 8, 0x0b, 0x03, 1, 0, 0x04, 1, 0, 0, 0);
	entry_end(s);
	begin_fde(s, cie, 0x20, 0x20);
	PUT(s, 0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x41, 0x12, 7, 2,
	    0x13, 3, 0x11, 6, 2, 0x05, 6, 3, 0x16, 6, 1, 0x30, 0x2e, 8, 0x2f,
	    6, 1, 0x14, 6, 1, 0x01, 4, 0, 0, 0);
	entry_end(s);
}

static bool
in_order(const struct ehframe_rows *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->rows[i].kind >= UNWIND_KINDS ||
		    (i > 0 && r->rows[i].pc <= r->rows[i - 1].pc))
			return false;
	return true;
}

/* Cut at every length and with every byte changed, a section may mean
 * anything, but rows stay in order and reads stay inside. */
TEST(damage)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct section whole = {0}, s;
	struct ehframe_rows r;
	size_t i, j;

	put_all(&whole);
	for (s = whole; s.n > 0; s.n--) {
		CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
		CHECK(in_order(&r));
		free(r.rows);
	}
	for (i = 0; i < whole.n; i++) {
		for (j = 0; j < sizeof(values); j++) {
			s = whole;
			s.b[i] = values[j];
			CHECK_INT(read_section(&s, true, &r), EHFRAME_OK);
			CHECK(in_order(&r));
			free(r.rows);
		}
	}
}

int
main(void)
{
	RUN(frame_pointer_function);
	RUN(large_frames);
	RUN(frame_by_rbx);
	RUN(state_is_remembered);
	RUN(expressions);
	RUN(signal_frame);
	RUN(order_gaps_and_overlaps);
	RUN(end_of_the_section);
	RUN(unknown_instructions_end_a_function);
	RUN(too_many_rows);
	RUN(damage);
	return test_done();
}
