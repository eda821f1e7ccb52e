/*
 * Rules beside .eh_frame: how they meet its rows, against a look at every
 * offset; musl's start code as its releases have it.
 */
#include <elf.h>
#include <stdlib.h>

#include "collector/elf/roots.h"
#include "tests/unit/collector/elf/bytes.h"

#define SPAN 400u
#define ROOTS 32 /* at most */

static uint32_t seed = 2463534242u;

static uint32_t
draw(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* The kind at an offset by the last row that begins before it. */
static uint8_t
kind_at(const struct unwind_row *rows, size_t n, uint32_t pc)
{
	uint8_t kind = UNWIND_NONE;

	for (size_t i = 0; i < n && rows[i].pc <= pc; i++)
		kind = rows[i].kind;
	return kind;
}

static size_t
draw_rows(struct unwind_row *rows, size_t max, const uint8_t *kinds,
    uint32_t n_kinds)
{
	uint32_t pc = draw(40);
	size_t n = 0;

	for (; n < max && pc < SPAN; pc += 1 + draw(30))
		rows[n++] = (struct unwind_row){.pc = pc,
		    .kind = kinds[draw(n_kinds)]};
	return n;
}

static void
check_merged(const struct unwind_row *was, size_t n, const struct roots *r,
    const struct ehframe_rows *got)
{
	for (uint32_t pc = 0; pc < SPAN; pc++) {
		uint8_t row = kind_at(was, n, pc);
		uint8_t root = kind_at(r->rows, r->n, pc);

		CHECK_INT(kind_at(got->rows, got->n, pc),
		    root == UNWIND_STOP || row == UNWIND_NONE ? root : row);
	}
	for (size_t i = 1; i < got->n; i++)
		CHECK(got->rows[i - 1].pc < got->rows[i].pc &&
		    got->rows[i - 1].kind != got->rows[i].kind);
}

TEST(merged_as_at_every_offset)
{
	static const uint8_t of_rows[] = {UNWIND_NONE, UNWIND_SP, UNWIND_BP},
	    of_roots[] = {UNWIND_NONE, UNWIND_STOP, UNWIND_GO};
	struct unwind_row was[40], roots[ROOTS];
	struct ehframe_rows rows;
	struct roots r = {.rows = roots};
	size_t n;

	for (int round = 0; round < 2000; round++) {
		n = draw_rows(was, round % 41, of_rows, 3);
		r.n = draw_rows(r.rows, round % ROOTS, of_roots, 3);
		rows = (struct ehframe_rows){.n = n,
		    .rows = malloc(n * sizeof(was[0]) + 1)};
		memcpy(rows.rows, was, n * sizeof(was[0]));
		CHECK_INT(roots_merge(&r, &rows, 1000), EHFRAME_OK);
		if (r.n > 0)
			check_merged(was, n, &r, &rows);
		if (r.n > 0 && rows.n > 0)
			CHECK_INT(roots_merge(&r, &rows, rows.n - 1),
			    EHFRAME_TOO_BIG);
		free(rows.rows);
		if (test_bad > 3)
			return;
	}
}

#define VADDR 0x401000u
#define CODE 0x1000
#define SIZE 0x2000

/* _start, _start_c, __libc_start_main and what it goes on to, as gcc 12 makes
 * them of musl 1.2.3. */
static const struct {
	size_t at;
	const char *bytes;
	size_t n;
} musl[] = {
    {0x00, "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35\xf0\xef\xbf\xff\x48\x83\xe4"
        "\xf0\xe8\x0a\0\0\0", 22},
    {0x20, "\x8b\x37\x48\x8d\x57\x08\xe9\xf5\0\0\0", 11},
    {0x120, "\x41\x55\xe8\0\0\0\0\x48\x8d\x05\xd2\xff\xff\xff\xff\xe0", 16},
    {0x100, "\x41\x55\x53\x89\xef\x4c\x89\xea\xff\xd3\x89\xc7\xe8", 13}};

static void
make_file(uint8_t *p)
{
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_entry = VADDR,
	    .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1};
	Elf64_Phdr load = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
	    .p_offset = CODE, .p_vaddr = VADDR, .p_filesz = SIZE - CODE,
	    .p_memsz = SIZE - CODE};

	memset(p, 0x90, SIZE);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(p, &h, sizeof(h));
	memcpy(p + sizeof(h), &load, sizeof(load));
	for (size_t i = 0; i < sizeof(musl) / sizeof(musl[0]); i++)
		memcpy(p + CODE + musl[i].at, musl[i].bytes, musl[i].n);
}

/* *r is valid until the next one. */
static void
find(uint8_t *file, uint32_t low, uint32_t high, struct roots *r)
{
	static struct unwind_row rows[ROOTS];
	struct bytes b = {file, SIZE};
	struct elf *e;

	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	roots_find(e, low, high, ROOTS, r);
	if (r->n > 0)
		memcpy(rows, r->rows, r->n * sizeof(rows[0]));
	free(r->rows);
	r->rows = rows;
	elf_close(e);
}

/* The row is that of the call of main(). */
TEST(musl_without_symbols)
{
	uint8_t file[SIZE];
	struct roots r;

	make_file(file);
	find(file, 0, SIZE, &r);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.rows[0].pc, CODE + 0x108);
	CHECK_INT(r.rows[0].kind, UNWIND_STOP);
	CHECK_INT(r.rows[1].pc, CODE + 0x10a);
	CHECK_INT(r.rows[1].kind, UNWIND_NONE);
	find(file, CODE + 0x109, SIZE, &r); /* a part begins in it */
	CHECK_INT(r.n, 2);
	CHECK_INT(r.rows[0].pc, CODE + 0x109);
	find(file, 0, CODE + 0x108, &r);
	CHECK_INT(r.n, 0);
}

/* mov %rsp,%rdi; call: a thread begins there, and nowhere else. */
TEST(loader)
{
	uint8_t file[SIZE];
	struct roots r;

	make_file(file);
	memcpy(file + CODE, "\x48\x89\xe7\xe8\x14\x0e\0\0", 8);
	find(file, 0, SIZE, &r);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.rows[0].pc, CODE);
	CHECK_INT(r.rows[0].kind, UNWIND_STOP);
	CHECK_INT(r.rows[1].pc, CODE + 8);
	CHECK_INT(r.rows[1].kind, UNWIND_NONE);
	file[CODE + 2] = 0xe6;
	find(file, 0, SIZE, &r);
	CHECK_INT(r.n, 0);
}

/* Nothing is read outside (bytes_read() looks), and nothing is made up. */
TEST(other_start_code)
{
	static const uint8_t values[] = {0, 0x7f, 0x80, 0xff};
	uint8_t file[SIZE];
	struct roots r;

	for (size_t i = 0; i < 4 * 0x140; i++) {
		make_file(file);
		file[CODE + i / 4] = values[i % 4];
		find(file, 0, SIZE, &r);
		CHECK(r.n == 0 || r.n == 2);
	}
	make_file(file);
	file[CODE + 1] = 0;
	find(file, 0, SIZE, &r);
	CHECK_INT(r.n, 0);
}

int
main(void)
{
	RUN(merged_as_at_every_offset);
	RUN(musl_without_symbols);
	RUN(loader);
	RUN(other_start_code);
	return test_done();
}
