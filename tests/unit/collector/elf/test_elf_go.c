/*
 * Go's own table of functions, in the three forms that it has had: made here
 * byte by byte, and damaged in every way.
 */
#include <elf.h>
#include <stdlib.h>

#include "tests/unit/collector/elf/bytes.h"

#define TEXT 0x401000u
#define CODE 0x1000   /* places in the file */
#define TABLE 0x2000
#define NAMES 0x3000
#define SECTIONS 0x3100
#define SIZE 0x3400
#define TABLE_SIZE 0x800

static const struct {
	uint32_t at;
	const char *name;
} functions[] = {{0, "runtime.text"}, {0x40, "main.main"},
    {0x100, "main.(*T).Spin"}, {0x140, "type:.eq.[2]interface {}"},
    {0x180, "runtime.mcallx"}, {0x188, "runtime.mcall"},
    {0x1a0, "runtime.mstart.abi0"}, {0x1c0, "runtime.mstart.abi1"}};

#define N (sizeof(functions) / sizeof(functions[0]))
#define END 0x200u

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

/* `wide`: words and addresses, not numbers from the text on. */
static void
put_table(uint8_t *t, size_t table, size_t described, bool wide,
    uint64_t names)
{
	size_t size = wide ? 8 : 4, i;

	for (i = 0; i < N; i++) {
		uint64_t entry = functions[i].at + (wide ? TEXT : 0);
		size_t at = 0x300 + i * 0x40;

		put(t, table + 2 * size * i, entry, size);
		put(t, table + 2 * size * i + size, at - described, size);
		put(t, at, entry, size);
		put(t, at + size, names + put_name(t, i), 4);
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
		put_table(t, 16, 0, true, 0x700);
		return;
	}
	word++; /* of files */
	if (!old)
		put(t, 8 + 8 * word++, TEXT, 8);
	put(t, 8 + 8 * word, 0x700, 8);
	put(t, 8 + 8 * (word + 4), 0x100, 8);
	put_table(t, 0x100, 0x100, old, 0);
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
	static const char names[] = "\0.text\0.gopclntab";
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_shoff = SECTIONS,
	    .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4,
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

/* Where stacks of the runtime begin, by whole names. */
TEST(roots_of_each_form)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf_go go;
	struct elf *e;

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		make_file(file, magics[i]);
		CHECK_INT(open_bytes(&e, &b), ELF_OK);
		CHECK(elf_find_go(e, &go));
		CHECK_INT(go.low, TEXT);
		CHECK_INT(go.high, TEXT + END);
		CHECK_INT(go.n, 2);
		CHECK_INT(go.roots[0].entry, TEXT + 0x188);
		CHECK_INT(go.roots[0].size, 0x18);
		CHECK_INT(go.roots[1].entry, TEXT + 0x1a0);
		CHECK_INT(go.roots[1].size, 0x20);
		elf_close(e);
	}
	make_file(file, 0xffffffef);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(!elf_find_go(e, &go));
	elf_close(e);
}

/* Nothing is read outside (bytes_read() looks), and nothing hangs. */
TEST(any_damage_is_harmless)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct elf_go go;
	struct elf *e;

	for (size_t i = 0; i < 4 * 0x600 * sizeof(values); i++) {
		size_t at = i / sizeof(values) % 0x600;

		make_file(file, magics[i / sizeof(values) / 0x600]);
		file[TABLE + at] = values[i % sizeof(values)];
		if (open_bytes(&e, &b) != ELF_OK)
			continue;
		elf_lookup(e, TEXT + 0x50, &s, name);
		elf_find_go(e, &go);
		elf_close(e);
	}
}

int
main(void)
{
	RUN(names_of_each_form);
	RUN(the_text_is_where_its_section_is);
	RUN(a_form_of_the_future_has_no_names);
	RUN(roots_of_each_form);
	RUN(any_damage_is_harmless);
	return test_done();
}
