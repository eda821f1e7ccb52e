/*
 * Rules of code without entries in .eh_frame: of what gcc's crtbegin.o and the
 * linkers' stubs are made of, and of bytes by chance.  That they are right at
 * each instruction of real files is test_unwind_own's to show.
 */
#include <elf.h>
#include <stdlib.h>

#include "collector/elf/prologue.h"
#include "tests/unit/collector/elf/bytes.h"

#define VADDR 0x401000u
#define CODE 0x1000u /* in the file */
#define SIZE 0x3000u
#define SECTIONS (SIZE - 0x200u)
#define ROWS 4096 /* at most */

static uint8_t file[SIZE];
static struct roots found;

/* A file of one segment with sections at these offsets of the code. */
static void
make_file(uint32_t entry, const uint32_t *sections, uint16_t n)
{
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_entry = VADDR + entry,
	    .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1, .e_shoff = SECTIONS, .e_shnum = n,
	    .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Phdr load = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
	    .p_offset = CODE, .p_vaddr = VADDR, .p_filesz = SECTIONS - CODE,
	    .p_memsz = SECTIONS - CODE};
	Elf64_Shdr s = {.sh_type = SHT_PROGBITS,
	    .sh_flags = SHF_ALLOC | SHF_EXECINSTR};

	memset(file, 0x90, SIZE);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), &load, sizeof(load));
	for (uint16_t i = 0; i < n; i++) {
		s.sh_offset = CODE + sections[i];
		memcpy(file + SECTIONS + i * sizeof(s), &s, sizeof(s));
	}
}

static void
put(uint32_t at, const char *bytes, size_t n)
{
	memcpy(file + CODE + at, bytes, n);
}

#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

/* Finds those of the code from low to high - 1, where a function is described
 * up to `described`. */
static void
find(uint32_t described, uint32_t low, uint32_t high)
{
	struct unwind_row row[] = {{.pc = CODE + low, .kind = UNWIND_SP,
	    .cfa = 1}, {.pc = CODE + described}};
	struct ehframe_rows rows = {.rows = row, .n = described > low ? 2 : 0};
	struct bytes b = {file, SIZE};
	struct elf *e;

	free(found.rows);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	prologue_find(e, &rows, CODE + low, CODE + high, ROWS, &found);
	elf_close(e);
}

/* Row i in words: "pc kind cfa bp". */
static const char *
row(size_t i)
{
	static char text[64];
	const struct unwind_row *r = found.rows + i;

	if (i >= found.n)
		return "no row";
	snprintf(text, sizeof(text), "%x %s %d %d", r->pc - CODE,
	    r->kind == UNWIND_NONE ? "none" : r->kind == UNWIND_SP ? "sp" :
	    "?", r->cfa, r->bp);
	return text;
}

/* deregister_tm_clones, __do_global_dtors_aux, frame_dummy. */
static void
put_crtbegin(uint32_t at)
{
	PUT(at, "\x48\x8d\x3d\1\2\3\4\x48\x8d\x05\1\2\3\4\x48\x39\xf8\x74\x15"
	    "\x48\x8b\x05\1\2\3\4\x48\x85\xc0\x74\x09\xff\xe0"
	    "\x0f\x1f\x80\0\0\0\0\xc3\x0f\x1f\x80\0\0\0\0");
	PUT(at + 0x30, "\xf3\x0f\x1e\xfa\x80\x3d\1\2\3\4\0\x75\x2b\x55"
	    "\x48\x83\x3d\1\2\3\4\0\x48\x89\xe5\x74\x0c"
	    "\x48\x8b\x3d\1\2\3\4\xe8\1\2\3\4\xe8\1\2\3\4"
	    "\xc6\x05\1\2\3\4\1\x5d\xc3\x0f\x1f\0\xc3\x0f\x1f\x80\0\0\0\0");
	PUT(at + 0x70, "\xf3\x0f\x1e\xfa\xe9\1\2\3\4");
}

/* Row by row, up to the last. */
static void
check_rows(const char *const *want)
{
	size_t i;

	for (i = 0; want[i] != NULL; i++)
		CHECK_STR(row(i), want[i]);
	CHECK_STR(row(i), "no row");
}

#define CHECK_ROWS(...) check_rows((const char *const[]){__VA_ARGS__, NULL})

TEST(begin_and_end_of_a_program)
{
	static const uint32_t fini = 0x124; /* no multiple of 16 */

	make_file(0x800, &fini, 1);
	put_crtbegin(0x40);
	PUT(0x124, "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3");
	find(0x31, 0, 0x12d);
	CHECK_ROWS("40 sp 1 0", "7e sp 2 2", "a4 sp 1 0", "128 sp 2 0",
	    "12c sp 1 0", "12d none 0 0");
	make_file(0x800, &fini, 0);
	PUT(0x124, "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3");
	find(0x31, 0, 0x12d);
	check_rows((const char *const[]){NULL}); /* who knows what it is */
}

TEST(stubs)
{
	static const uint32_t sections[] = {0x100, 0x130};
	uint32_t at;

	make_file(0x800, sections, 2);
	PUT(0x100, "\xff\x35\1\2\3\4\xff\x25\1\2\3\4\x0f\x1f\x40\0");
	for (at = 0x110; at < 0x130; at += 16)
		PUT(at, "\xff\x25\1\2\3\4\x68\1\0\0\0\xe9\1\2\3\4");
	for (at = 0x130; at < 0x140; at += 8)
		PUT(at, "\xff\x25\1\2\3\4\x66\x90");
	find(0x100, 0, 0x140);
	CHECK_ROWS("100 sp 2 0", "106 sp 3 0", "110 sp 1 0", "11b sp 2 0",
	    "120 sp 1 0", "12b sp 2 0", "130 sp 1 0", "140 none 0 0");
	/* With landing pads. */
	make_file(0x800, sections, 2);
	PUT(0x100, "\xff\x35\1\2\3\4\xf2\xff\x25\1\2\3\4\x0f\x1f\0");
	for (at = 0x110; at < 0x130; at += 16)
		PUT(at, "\xf3\x0f\x1e\xfa\x68\1\0\0\0\xf2\xe9\1\2\3\4\x90");
	PUT(0x130, "\xf3\x0f\x1e\xfa\xf2\xff\x25\1\2\3\4\x0f\x1f\x44\0\0");
	find(0x100, 0, 0x140);
	CHECK_ROWS("100 sp 2 0", "106 sp 3 0", "110 sp 1 0", "119 sp 2 0",
	    "120 sp 1 0", "129 sp 2 0", "130 sp 1 0", "140 none 0 0");
}

TEST(what_is_not_known_ends_it)
{
	make_file(0x800, NULL, 0);
	PUT(0x40, "\x55\x48\x89\xe5\x0f\xa2\xc3"); /* cpuid */
	find(0x20, 0, 0x60);
	CHECK_ROWS("40 sp 1 0", "41 sp 2 2", "45 none 0 0");
	PUT(0x40, "\x55\xc3\x90\x90"); /* returns to what it has pushed */
	find(0x20, 0, 0x60);
	CHECK_ROWS("40 sp 1 0", "41 sp 2 2", "42 none 0 0");
	PUT(0x40, "\x74\x01\x55\x90"); /* two ways do not agree */
	find(0x20, 0, 0x60);
	CHECK_ROWS("40 sp 1 0", "43 none 0 0");
	PUT(0x40, "\x48\x83\xc4\x08"); /* away with the return address */
	find(0x20, 0, 0x60);
	CHECK_ROWS("40 sp 1 0", "41 none 0 0");
	PUT(0x40, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"); /* a signal's return */
	find(0x20, 0, 0x60);
	CHECK_ROWS("40 sp 1 0", "41 none 0 0");
	/* A program has nobody to return to. */
	make_file(0x40, NULL, 0);
	PUT(0x40, "\x55\xc3");
	find(0x20, 0, 0x60);
	check_rows((const char *const[]){NULL});
}

/* What is found at an offset: kind, cfa, bp. */
static uint32_t
rule_at(const struct roots *r, uint32_t pc)
{
	uint32_t rule = UNWIND_NONE;

	for (size_t i = 0; i < r->n && r->rows[i].pc <= pc; i++)
		rule = r->rows[i].kind | (uint32_t)r->rows[i].cfa << 8 |
		    (uint32_t)r->rows[i].bp << 24;
	return rule;
}

/* Of a part, as of all. */
TEST(parts)
{
	static const uint32_t fini = 0x124;
	uint32_t low, pc;
	struct roots all;

	make_file(0x800, &fini, 1);
	put_crtbegin(0x40);
	PUT(0x124, "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3");
	find(0, 0, 0x12d);
	all = found;
	found = (struct roots){0};
	for (low = 0x20; low < 0x12d && test_bad < 3; low++) {
		find(0, low, 0x12d);
		CHECK(found.n == 0 || found.rows[0].pc >= CODE + low);
		for (pc = CODE + low; pc < CODE + 0x12d; pc++)
			CHECK_INT(rule_at(&found, pc), rule_at(&all, pc));
	}
	free(all.rows);
}

static uint32_t seed = 2463534242u;

static uint32_t
draw(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % n;
}

/* Any bytes give rows in order, of the part, and of a stack that is there. */
TEST(chance)
{
	static const uint8_t likely[] = {0x48, 0x83, 0xec, 0xc4, 8, 0x55, 0x5d,
	    0xc3, 0x74, 0x75, 2, 0xff, 0x25, 0x35, 0x68, 0xe9, 0xe8, 0x66,
	    0x90, 0x0f, 0x1f, 0, 0x41, 0x50, 0x58, 0xcc};
	uint32_t sections[4], i;
	size_t k;

	for (int round = 0; round < 3000 && test_bad < 3; round++) {
		for (i = 0; i < 4; i++)
			sections[i] = draw(0x400);
		make_file(0x800, sections, 4);
		for (i = 0; i < 0x400; i++)
			file[CODE + i] = draw(9) == 0 ? (uint8_t)draw(256) :
			    likely[draw(sizeof(likely))];
		find(0, draw(0x100), 0x300 + draw(0x100));
		CHECK_INT(found.status, EHFRAME_OK);
		for (k = 0; k < found.n; k++) {
			CHECK(k == 0 || found.rows[k - 1].pc <
			    found.rows[k].pc);
			CHECK(found.rows[k].kind == UNWIND_NONE ||
			    (found.rows[k].cfa >= 1 && found.rows[k].bp <=
			    found.rows[k].cfa));
		}
	}
}

int
main(void)
{
	RUN(begin_and_end_of_a_program);
	RUN(stubs);
	RUN(what_is_not_known_ends_it);
	RUN(parts);
	RUN(chance);
	free(found.rows);
	return test_done();
}
