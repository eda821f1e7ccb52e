/*
 * Go's own table of functions, in the forms that it has had: made here byte by
 * byte, and damaged in every way.
 */
#include <elf.h>
#include <stdlib.h>

#include "collector/elf/go_rows.h"
#include "collector/elf/roots.h"
#include "tests/unit/collector/elf/bytes.h"

#define TEXT 0x401000u
#define CODE 0x1000   /* places in the file */
#define TABLE 0x2000
#define NAMES 0x3000
#define SECTIONS 0x3100
#define MODULE 0x3300
#define SIZE 0x3400
#define TABLE_SIZE 0x800
#define DEPTHS 0x680 /* in the table; names are at 0x700 */

/* `depths` as the table has them: the stack of main() deepens by a push, Spin's
 * by a subtraction, with bytes of no function behind it. */
static const struct {
	uint32_t at;
	const char *name, *depths;
	uint8_t flags;
} functions[] = {{0, "runtime.text", NULL, 0},
    {0x40, "main.main", "\2\5\x10\3\x50\x20\x4f\1\xf\1\x60\x96\1", 4},
    {0x100, "main.(*T).Spin", "\2\4\x30\x20", 0},
    {0x140, "type:.eq.[2]interface {}", "\2\x40", 2},
    {0x180, "runtime.mcallx", "\2\x8", 5},
    {0x188, "runtime.mcall", "\2\x18", 0},
    {0x1a0, "runtime.mstart.abi0", "\2\x20", 0},
    {0x1c0, "runtime.mstart.abi1", "\2\x4\x1\x4\x9\x4\x8\x14", 0},
    {0x1e0, "runtime.clone.abi0", "\2\x20", 0},
    {0x200, "runtime.morestack.abi0", "\2\x20", 0},
    {0x220, "crosscall2", "\2\1\x10\7\x60\x18", 0},
    {0x240, "runtime.sigreturn__sigaction.abi0", "\2\x20", 0},
    {0x250, "runtime.asyncPreempt.abi0", "\2\1\x10\xf", 0},
    {0x260, "main.last", "\2\x20", 0}};

static const struct {
	uint32_t at;
	const char *bytes;
	size_t n;
} code[] = {{0x44, "\x55", 1}, {0x104, "\x48\x89\x6c\x24\x10", 5},
    {0x220, "\x55", 1}, {0x250, "\x55", 1}};

#define N (sizeof(functions) / sizeof(functions[0]))
#define END 0x280u

static void
put(uint8_t *p, size_t at, uint64_t v, size_t n)
{
	memcpy(p + at, &v, n);
}

/* Names at 0x700; returns the offset of one from there. */
static uint64_t
put_name(uint8_t *t, size_t i)
{
	size_t at = 0x700;

	for (size_t k = 0; k < i; k++)
		at += strlen(functions[k].name) + 1;
	memcpy(t + at, functions[i].name, strlen(functions[i].name) + 1);
	return at - 0x700;
}

/* Returns where they are, from DEPTHS on. */
static size_t
put_depths(uint8_t *t, size_t i)
{
	size_t at = 1; /* at 0 is what has none */

	if (functions[i].depths == NULL)
		return 0;
	for (size_t k = 0; k < i; k++)
		if (functions[k].depths != NULL)
			at += strlen(functions[k].depths) + 1;
	memcpy(t + DEPTHS + at, functions[i].depths,
	    strlen(functions[i].depths) + 1);
	return at;
}

/* `wide`: words and addresses, not numbers from the text on. */
static void
put_table(uint8_t *t, size_t table, size_t described, bool wide,
    uint64_t names, size_t flags)
{
	size_t size = wide ? 8 : 4, i;

	for (i = 0; i < N; i++) {
		uint64_t entry = functions[i].at + (wide ? TEXT : 0);
		size_t at = 0x300 + i * 0x40;

		put(t, table + 2 * size * i, entry, size);
		put(t, table + 2 * size * i + size, at - described, size);
		put(t, at, entry, size);
		put(t, at + size, names + put_name(t, i), 4);
		if (flags == 0)
			continue;
		put(t, at + 16, put_depths(t, i), 4);
		t[at + flags] = functions[i].flags;
	}
	put(t, table + 2 * size * N, END + (wide ? TEXT : 0), size);
}

static void
put_go(uint8_t *t, uint32_t magic)
{
	bool short_head = magic == 0xfffffffb, old = magic == 0xfffffffa;
	unsigned word = 1;

	put(t, 0, magic, 4);
	t[6] = 1;
	t[7] = 8;
	put(t, 8, N, 8);
	if (short_head) {
		put_table(t, 16, 0, true, 0x700, 0);
		return;
	}
	word++; /* of files */
	if (!old)
		put(t, 8 + 8 * word++, TEXT, 8);
	put(t, 8 + 8 * word, 0x700, 8);
	put(t, 8 + 8 * (word + 3), DEPTHS, 8);
	put(t, 8 + 8 * (word + 4), 0x100, 8);
	put_table(t, 0x100, 0x100, old, 0, old ? 0 :
	    magic == 0xfffffff0 ? 37 : 41);
}

static void
put_section(uint8_t *p, int i, uint32_t name, uint64_t at, uint64_t size,
    uint64_t vaddr)
{
	Elf64_Shdr s = {.sh_name = name, .sh_type = SHT_PROGBITS,
	    .sh_offset = at, .sh_size = size, .sh_addr = vaddr};

	memcpy(p + SECTIONS + i * (int)sizeof(s), &s, sizeof(s));
}

static void
make_file(uint8_t *p, uint32_t magic)
{
	static const char names[] = "\0.text\0.gopclntab\0.go.module";
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_shoff = SECTIONS,
	    .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 5,
	    .e_shstrndx = 3};
	Elf64_Phdr load = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
	    .p_offset = CODE, .p_vaddr = TEXT, .p_filesz = 0x1000,
	    .p_memsz = 0x1000};

	memset(p, 0, SIZE);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(p, &h, sizeof(h));
	memcpy(p + sizeof(h), &load, sizeof(load));
	memcpy(p + NAMES, names, sizeof(names));
	put_section(p, 1, 1, CODE, 0x1000, TEXT);
	put_section(p, 2, 7, TABLE, TABLE_SIZE, 0);
	put_section(p, 3, 0, NAMES, sizeof(names), 0);
	put_go(p + TABLE, magic);
	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		memcpy(p + CODE + code[i].at, code[i].bytes, code[i].n);
}

static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0,
    0xfffffff1};

static void
look_up_all(const struct elf *e)
{
	char name[ELF_NAME_MAX];
	struct elf_symbol s;

	for (size_t i = 0; i < N; i++) {
		uint64_t end = i + 1 < N ? functions[i + 1].at : END;

		for (uint64_t at = functions[i].at; at < end; at += 7) {
			CHECK(elf_lookup(e, TEXT + at, &s, name));
			CHECK_STR(name, functions[i].name);
			CHECK_INT(s.entry, TEXT + functions[i].at);
			CHECK_INT(s.size, end - functions[i].at);
		}
	}
	CHECK(!elf_lookup(e, TEXT + END, &s, name));
}

TEST(names_of_each_form)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		make_file(file, magics[i]);
		CHECK_INT(open_bytes(&e, &b), ELF_OK);
		CHECK_INT(elf_symbols(e), N);
		look_up_all(e);
		elf_close(e);
	}
}

/* Where the linker has left the address of the text to the loader. */
TEST(the_text_is_where_its_section_is)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;

	make_file(file, 0xfffffff1);
	put(file, TABLE + 24, 0, 8);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	look_up_all(e);
	elf_close(e);
}

/* Go 1.26: the text need not begin its section. */
TEST(the_text_is_where_the_module_says)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;

	make_file(file, 0xfffffff1);
	put(file, TABLE + 24, 0, 8);
	put_section(file, 1, 1, CODE, 0x1000, TEXT - 0x800);
	put_section(file, 4, 18, MODULE, 0x100, 0);
	put(file, MODULE + 176, TEXT, 8);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	look_up_all(e);
	elf_close(e);
}

TEST(a_form_of_the_future_has_no_names)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;

	make_file(file, 0xffffffef);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK_INT(elf_symbols(e), 0);
	elf_close(e);
}

struct text {
	char bytes[512];
	size_t n;
};

/* "pc kind [cfa bp]; " of each row. */
static bool
take_row(void *arg, uint64_t vaddr, const struct unwind_row *row)
{
	static const char *const kinds[UNWIND_KINDS] = {[UNWIND_NONE] = "none",
	    [UNWIND_STOP] = "stop", [UNWIND_GO] = "go", [UNWIND_SP] = "sp",
	    [UNWIND_SIGNAL] = "signal", [UNWIND_ELSEWHERE] = "elsewhere",
	    [UNWIND_PUSHED] = "pushed"};
	struct text *t = arg;

	t->n += (size_t)snprintf(t->bytes + t->n, sizeof(t->bytes) - t->n,
	    row->cfa != 0 || row->bp != 0 ? "%x %s %d %d; " : "%x %s; ",
	    (unsigned)(vaddr - TEXT), kinds[row->kind], row->cfa, row->bp);
	return t->n < sizeof(t->bytes);
}

static const char *
rows_of(uint32_t magic, uint32_t low, uint32_t high)
{
	static struct text t;
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;

	t = (struct text){0};
	make_file(file, magic);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	go_rows(e, TEXT + low, TEXT + high, take_row, &t);
	elf_close(e);
	return t.bytes;
}

/* Where stacks of the runtime begin, by whole names. */
TEST(roots_of_each_form)
{
	static const char old[] = "0 go; 40 go; 100 go; 140 go; 180 go; "
	    "188 stop; 1a0 stop; 1c0 go; 1e0 go; 200 elsewhere; 220 go; "
	    "23f signal; 250 go; 260 go; 280 none; ";

	CHECK_STR(rows_of(0xfffffffb, 0, END), old);
	CHECK_STR(rows_of(0xfffffffa, 0, END), old);
	CHECK_STR(rows_of(0xffffffef, 0, END), "");
}

/* Where the depth is not known, or the stack another one, by the frame. */
TEST(rows_by_depth)
{
	for (size_t i = 2; i < 4; i++)
		CHECK_STR(rows_of(magics[i], 0, END), "0 go; 40 go 1 0; "
		    "45 go 2 2; 48 go 7 2; 68 go 2 2; 69 go 1 0; 6a go 7 2; "
		    "100 go 1 0; 104 go 4 0; 109 go 4 2; 140 go; "
		    "180 go 1 0; 188 stop; 1a0 stop; "
		    "1c0 go 1 0; 1c4 go; 1c8 go; 1cc go; 1e0 go; "
		    "200 elsewhere; 220 sp 1 0; 221 sp 2 2; 228 sp 8 2; "
		    "23f signal; 250 pushed 1 0; 251 pushed 2 2; "
		    "260 go 1 0; 280 none; ");
	CHECK_STR(rows_of(magics[3], 0x104, 0x108),
	    "100 go 1 0; 104 go 4 0; 109 go 4 2; ");
}

static struct roots
find(const struct elf *e, uint32_t low, uint32_t high, size_t max)
{
	struct roots r;

	roots_find(e, low, high, max, &r);
	return r;
}

/* A part begins with what has begun before. */
TEST(rows_of_a_part)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct roots r;
	struct elf *e;

	make_file(file, 0xfffffff1);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	r = find(e, CODE + 0x4a, CODE + 0x69, 100);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.rows[0].pc, CODE + 0x4a);
	CHECK_INT(r.rows[0].cfa, 7);
	CHECK_INT(r.rows[1].pc, CODE + 0x68);
	CHECK_INT(r.rows[1].cfa, 2);
	free(r.rows);
	r = find(e, 0, CODE + 0x41, 100);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.rows[0].pc, CODE);
	CHECK_INT(r.rows[1].pc, CODE + 0x40);
	free(r.rows);
	r = find(e, CODE + END, SIZE, 100);
	CHECK(r.n == 1 && r.rows[0].kind == UNWIND_NONE);
	free(r.rows);
	/* A handler returns to the first byte behind the part. */
	r = find(e, CODE + 0x230, CODE + 0x240, 100);
	CHECK_INT(r.n, 2);
	CHECK_INT(r.rows[0].pc, CODE + 0x230);
	CHECK_INT(r.rows[0].kind, UNWIND_SP);
	CHECK_INT(r.rows[1].pc, CODE + 0x23f);
	CHECK_INT(r.rows[1].kind, UNWIND_SIGNAL);
	free(r.rows);
	r = find(e, 0, SIZE, 22); /* one fewer than there are */
	CHECK_INT(r.status, EHFRAME_TOO_BIG);
	free(r.rows);
	elf_close(e);
}

static void
try_rows(const struct elf *e, uint32_t low, uint32_t high)
{
	struct roots r = find(e, low, high, 1000);

	for (size_t i = 0; i < r.n; i++)
		CHECK(r.rows[i].pc >= low && r.rows[i].pc < high &&
		    (i == 0 || r.rows[i].pc > r.rows[i - 1].pc));
	free(r.rows);
}

/* Nothing is read outside (bytes_read() looks), and nothing hangs. */
TEST(any_damage_is_harmless)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct elf *e;

	for (size_t i = 0; i < 4 * 0x700 * sizeof(values); i++) {
		size_t at = i / sizeof(values) % 0x700;

		make_file(file, magics[i / sizeof(values) / 0x700]);
		file[TABLE + at] = values[i % sizeof(values)];
		if (open_bytes(&e, &b) != ELF_OK)
			continue;
		elf_lookup(e, TEXT + 0x50, &s, name);
		try_rows(e, 0, SIZE);
		try_rows(e, CODE + 0x50, CODE + 0x110);
		elf_close(e);
		if (test_bad > 3)
			return;
	}
}

int
main(void)
{
	RUN(names_of_each_form);
	RUN(the_text_is_where_its_section_is);
	RUN(the_text_is_where_the_module_says);
	RUN(a_form_of_the_future_has_no_names);
	RUN(roots_of_each_form);
	RUN(rows_by_depth);
	RUN(rows_of_a_part);
	RUN(any_damage_is_harmless);
	return test_done();
}
