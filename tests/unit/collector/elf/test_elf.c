/*
 * The ELF reader: a small file made here byte by byte, damaged in every
 * way, and the test's own executable.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/elf/elf_private.h"
#include "tests/unit/collector/elf/bytes.h"

/* Where things are in the file; virtual addresses are BASE higher. */
#define BASE 0x400000u
#define NOTE 0x200
#define TEXT 0x1000
#define HDR 0x3000   /* .eh_frame_hdr, then .eh_frame */
#define FDES 0x3100
#define SYMTAB 0x4000
#define STRTAB 0x4400
#define SECTIONS 0x4800
#define SIZE 0x5000

static const struct {
	uint64_t at, size;
	const char *name;
	unsigned bind, type;
} functions[] = {
    {0x100, 0x20, "alpha", STB_GLOBAL, STT_FUNC},
    {0x140, 0x40, "beta_local", STB_LOCAL, STT_FUNC},
    {0x140, 0x40, "beta_weak", STB_WEAK, STT_FUNC},
    {0x140, 0x40, "beta", STB_GLOBAL, STT_FUNC},
    {0x180, 0, "start", STB_GLOBAL, STT_FUNC},
    {0x200, 0x100, "outer", STB_GLOBAL, STT_FUNC},
    {0x220, 0x10, "inner", STB_LOCAL, STT_FUNC},
    {0x280, 0, "label", STB_LOCAL, STT_FUNC}, /* within outer */
    {0x400, 0x10, "chosen", STB_GLOBAL, STT_GNU_IFUNC},
    {0x500, 0x10, "data", STB_GLOBAL, STT_OBJECT}};

#define N (sizeof(functions) / sizeof(functions[0]))

static void
put_symbols(uint8_t *p)
{
	Elf64_Sym s = {0};
	size_t i, name = 1;

	for (i = 0; i < N; i++) {
		s.st_name = (uint32_t)name;
		s.st_info = ELF64_ST_INFO(functions[i].bind,
		    functions[i].type);
		s.st_shndx = 1;
		s.st_value = BASE + TEXT + functions[i].at;
		s.st_size = functions[i].size;
		memcpy(p + SYMTAB + (i + 1) * sizeof(s), &s, sizeof(s));
		strcpy((char *)p + STRTAB + name, functions[i].name);
		name += strlen(functions[i].name) + 1;
	}
}

static void
put_section(uint8_t *p, int i, uint32_t type, uint64_t at, uint64_t size,
    uint64_t entry, uint32_t link)
{
	Elf64_Shdr s = {.sh_type = type, .sh_offset = at, .sh_size = size,
	    .sh_entsize = entry, .sh_link = link};

	memcpy(p + SECTIONS + i * (int)sizeof(s), &s, sizeof(s));
}

static void
put_segment(uint8_t *p, int i, uint32_t type, uint32_t flags, uint64_t at,
    uint64_t size)
{
	Elf64_Phdr h = {.p_type = type, .p_flags = flags, .p_offset = at,
	    .p_vaddr = BASE + at, .p_filesz = size, .p_memsz = size};

	memcpy(p + sizeof(Elf64_Ehdr) + i * (int)sizeof(h), &h, sizeof(h));
}

static void
put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, 4);
}

/* Two functions without symbols, at 0x700 (0x80 bytes) and 0x900 (0x10). */
static void
put_frames(uint8_t *p)
{
	static const uint32_t at[2] = {0x700, 0x900}, size[2] = {0x80, 0x10};
	int i;

	memcpy(p + HDR, "\x01\x1b\x03\x3b", 4);
	put32(p + HDR + 8, 2);
	for (i = 0; i < 2; i++) {
		uint8_t *fde = p + FDES + 0x20 * i;

		put32(p + HDR + 12 + 8 * i, TEXT + at[i] - HDR);
		put32(p + HDR + 16 + 8 * i,
		    (uint32_t)(FDES + 0x20 * i - HDR));
		put32(fde, 0x14);
		put32(fde + 4, 0x10);
		put32(fde + 8, TEXT + at[i] -
		    (uint32_t)(FDES + 0x20 * i + 8));
		put32(fde + 12, size[i]);
	}
}

static void
make_file(uint8_t *p)
{
	static const uint8_t note[] = {4, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0,
	    'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef, 0x01, 0, 0, 0};
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_shoff = SECTIONS,
	    .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 4, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3};

	memset(p, 0, SIZE);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(p, &h, sizeof(h));
	put_segment(p, 0, PT_LOAD, PF_R, 0, TEXT);
	put_segment(p, 1, PT_LOAD, PF_R | PF_X, TEXT, SYMTAB - TEXT);
	put_segment(p, 2, PT_NOTE, PF_R, NOTE, sizeof(note));
	put_segment(p, 3, PT_GNU_EH_FRAME, PF_R, HDR, 12 + 16);
	memcpy(p + NOTE, note, sizeof(note));
	put_symbols(p);
	put_frames(p);
	put_section(p, 1, SHT_SYMTAB, SYMTAB, (N + 1) * sizeof(Elf64_Sym),
	    sizeof(Elf64_Sym), 2);
	put_section(p, 2, SHT_STRTAB, STRTAB, SECTIONS - STRTAB, 0, 0);
}

TEST(lookup)
{
	static const struct {
		uint64_t at;
		const char *name; /* NULL: none */
		uint64_t entry;
	} cases[] = {
	    {0xff, NULL, 0}, {0x100, "alpha", 0x100},
	    {0x11f, "alpha", 0x100},
	    {0x120, NULL, 0}, {0x13f, NULL, 0}, /* the gap is nobody's */
	    {0x140, "beta", 0x140}, {0x17f, "beta", 0x140},
	    {0x180, "start", 0x180}, {0x1ff, "start", 0x180},
	    {0x200, "outer", 0x200}, {0x21f, "outer", 0x200},
	    {0x220, "inner", 0x220}, {0x22f, "inner", 0x220},
	    {0x230, "outer", 0x200}, {0x2ff, "outer", 0x200},
	    {0x280, "label", 0x280}, {0x281, "outer", 0x200},
	    {0x300, NULL, 0}, {0x408, "chosen", 0x400}, {0x508, NULL, 0},
	    {0x2fff, NULL, 0}};
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct elf *e;
	size_t i;

	make_file(file);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(elf_has_symtab(e));
	CHECK_INT(elf_symbols(e), 7);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = elf_lookup(e, BASE + TEXT + cases[i].at, &s,
		    name);

		CHECK_INT(found, cases[i].name != NULL);
		if (!found || cases[i].name == NULL)
			continue;
		CHECK_STR(name, cases[i].name);
		CHECK_INT(s.entry, BASE + TEXT + cases[i].entry);
	}
	elf_close(e);
}

TEST(addresses)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	uint64_t v, o;
	const uint8_t *id;
	struct elf *e;
	size_t n;

	make_file(file);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(elf_vaddr(e, TEXT + 5, &v) && v == BASE + TEXT + 5);
	CHECK(elf_offset(e, v, &o) && o == TEXT + 5);
	CHECK(!elf_vaddr(e, SYMTAB, &v));
	CHECK(!elf_offset(e, 0, &o));
	id = elf_build_id(e, &n);
	CHECK_INT(n, 5);
	CHECK(memcmp(id, "\xde\xad\xbe\xef\x01", 5) == 0);
	elf_close(e);
}

/* Linkers' scripts of one's own make no segment of it. */
TEST(a_build_id_in_a_section_alone)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;
	size_t n;

	make_file(file);
	put_segment(file, 2, PT_NULL, 0, 0, 0);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	elf_build_id(e, &n);
	CHECK_INT(n, 0);
	elf_close(e);
	put_section(file, 0, SHT_NOTE, NOTE, 24, 0, 0);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(memcmp(elf_build_id(e, &n), "\xde\xad\xbe\xef\x01", 5) == 0);
	CHECK_INT(n, 5);
	elf_close(e);
}

TEST(functions_without_names)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf_symbol s;
	struct elf *e;

	make_file(file);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(elf_function(e, BASE + TEXT + 0x77f, &s));
	CHECK_INT(s.entry, BASE + TEXT + 0x700);
	CHECK_INT(s.size, 0x80);
	CHECK(!elf_function(e, BASE + TEXT + 0x780, &s));
	CHECK(!elf_function(e, BASE + TEXT + 0x6ff, &s));
	CHECK(elf_function(e, BASE + TEXT + 0x900, &s));
	CHECK(!elf_function(e, BASE + TEXT + 0x910, &s));
	elf_close(e);
	/* An index that does not agree with its FDE says nothing. */
	put32(file + FDES + 8, 0);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(!elf_function(e, BASE + TEXT + 0x700, &s));
	elf_close(e);
}

/* From the byte before, which a caller's address is, to its last. */
TEST(the_return_from_a_signal)
{
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf_symbol s = {0};
	struct elf *e;
	int i;

	make_file(file);
	memcpy(file + TEXT + 0x600, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	for (i = -10; i < 20; i++) {
		bool found = elf_signal_return(e,
		    BASE + TEXT + 0x600 + (uint64_t)(int64_t)i, &s);

		CHECK_INT(found, i >= -1 && i <= 8);
		if (found)
			CHECK_INT(s.entry, BASE + TEXT + 0x600);
	}
	CHECK(!elf_signal_return(e, 0, &s));
	CHECK(!elf_signal_return(e, UINT64_MAX, &s));
	elf_close(e);
}

/* From the byte before it to its last instruction, at multiples of 16. */
TEST(the_return_from_a_context)
{
	static const char code[] = "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85"
	    "\xff\x74\x08\xe8\0\0\0\0\xf4";
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf_symbol s = {0};
	struct elf *e;

	make_file(file);
	memcpy(file + TEXT + 0x608, code, sizeof(code) - 1);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(!elf_find_context(e, 0, SIZE, &s));
	elf_close(e);
	memcpy(file + TEXT + 0x620, code, sizeof(code) - 1);
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(elf_find_context(e, 0, UINT64_MAX, &s));
	CHECK_INT(s.entry, TEXT + 0x620);
	CHECK_INT(s.size, sizeof(code) - 1);
	CHECK(elf_find_context(e, TEXT + 0x620, TEXT + 0x640, &s));
	CHECK(!elf_find_context(e, TEXT + 0x621, TEXT + 0x640, &s));
	CHECK(!elf_find_context(e, TEXT + 0x600, TEXT + 0x620, &s));
	CHECK(elf_context(e, BASE + TEXT + 0x61f, &s));
	CHECK_INT(s.entry, BASE + TEXT + 0x620);
	CHECK(elf_context(e, BASE + TEXT + 0x620, &s));
	CHECK(!elf_context(e, BASE + TEXT + 0x61e, &s));
	CHECK(!elf_context(e, UINT64_MAX, &s));
	elf_close(e);
}

TEST(other_files)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum elf_status status;
	} cases[] = {
	    {0, 'X', ELF_NOT_ELF}, {EI_CLASS, ELFCLASS32, ELF_UNSUPPORTED},
	    {EI_DATA, ELFDATA2MSB, ELF_UNSUPPORTED},
	    {18, EM_AARCH64, ELF_UNSUPPORTED}, {16, ET_REL, ELF_UNSUPPORTED},
	    {56, 0, ELF_DAMAGED} /* no program headers */};
	uint8_t file[SIZE];
	struct bytes b = {file, SIZE};
	struct elf *e;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_file(file);
		file[cases[i].at] = cases[i].value;
		CHECK_INT(open_bytes(&e, &b), cases[i].status);
		CHECK(e == NULL);
	}
	b.size = 0;
	CHECK_INT(open_bytes(&e, &b), ELF_NOT_ELF);
}

/* Opens what may be damaged and asks all there is to ask. */
static void
exercise(struct bytes *b)
{
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct elf *e;
	uint64_t v;

	if (open_bytes(&e, b) != ELF_OK)
		return;
	for (v = 0; v < SIZE; v += 0x33) {
		elf_lookup(e, BASE + v, &s, name);
		elf_find_data(e, BASE + v, &s, name);
		elf_function(e, BASE + v, &s);
		elf_vaddr(e, v, &s.entry);
	}
	elf_lookup(e, UINT64_MAX, &s, name);
	elf_function(e, UINT64_MAX, &s);
	elf_close(e);
}

TEST(any_damage_is_harmless)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	static const size_t parts[][2] = {{0, 0x300}, {HDR, 0x200},
	    {SYMTAB, 0x200}, {SECTIONS, 0xc0}};
	uint8_t *file = malloc(SIZE);
	struct bytes b = {file, SIZE};
	size_t part, round, i;

	srandom(1);
	for (round = 0; round < 20000; round++) {
		make_file(file);
		for (i = 0; i < 1 + round % 4; i++) {
			part = (size_t)random() % 4;
			file[parts[part][0] + (size_t)random() %
			    parts[part][1]] =
			    values[random() % 5];
		}
		exercise(&b);
	}
	free(file);
	for (i = 0; i < SIZE; i += 7) {
		uint8_t *cut = malloc(SIZE), *exact = malloc(i + 1);

		make_file(cut);
		memcpy(exact, cut, i);
		exercise(&(struct bytes){exact, i});
		free(cut);
		free(exact);
	}
}

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	return pread(*(int *)arg, p, n, (off_t)at) == (ssize_t)n;
}

/* The address of main in the file that is running: known to the linker. */
extern const char __ehdr_start[];
int main(void);

TEST(own_executable)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_input in = {file_read, &fd, 0};
	uint64_t at = (uint64_t)((uintptr_t)main - (uintptr_t)__ehdr_start);
	char name[ELF_NAME_MAX];
	struct elf_symbol s, f;
	struct stat st;
	struct elf *e;

	CHECK(fstat(fd, &st) == 0);
	in.size = (uint64_t)st.st_size;
	CHECK_INT(elf_open(&e, &in), ELF_OK);
	CHECK(elf_lookup(e, at + 1, &s, name));
	CHECK_STR(name, "main");
	CHECK_INT(s.entry, at);
	CHECK(elf_function(e, at + 1, &f));
	CHECK_INT(f.entry, at);
	CHECK_INT(f.size, s.size);
	elf_close(e);
	close(fd);
}

/* _init, which says no size, was the name of all calls to libraries. */
TEST(a_symbol_without_a_size_ends_with_its_section)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_input in = {file_read, &fd, 0};
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	Elf64_Shdr section;
	struct stat st;
	struct elf *e;

	CHECK(fstat(fd, &st) == 0);
	in.size = (uint64_t)st.st_size;
	CHECK_INT(elf_open(&e, &in), ELF_OK);
	CHECK(elf_section_named(e, ".init", &section));
	CHECK(elf_lookup(e, section.sh_addr + section.sh_size - 1, &s, name));
	CHECK_STR(name, "_init");
	CHECK(elf_section_named(e, ".plt", &section));
	CHECK(!elf_lookup(e, section.sh_addr, &s, name));
	CHECK(!elf_lookup(e, section.sh_addr + section.sh_size - 1, &s, name));
	elf_close(e);
	close(fd);
}

/* Assembly code that calls nothing a function, perf names all the same. */
__asm__(".text\n"
        ".globl labelled\n"
        "labelled:\n"
        "	nop\n"
        "labelled_loop:\n"
        "	ret\n"
        ".globl labelled_next\n"
        "labelled_next:\n"
        "	ret\n"
        ".globl typed\n"
        ".type typed, @function\n"
        "typed:\n"
        "	nop\n"
        ".globl typed_part\n"
        "typed_part:\n"
        "	ret\n"
        ".size typed, . - typed\n");
extern const char labelled[], labelled_next[], typed[];

TEST(labels_of_assembly_code_are_names)
{
	static const struct {
		const char *at;
		uint64_t entry;
		const char *name;
	} cases[] = {{labelled, 0, "labelled"}, {labelled, 1, "labelled"},
	    {labelled_next, 0, "labelled_next"}, {typed, 0, "typed"},
	    {typed, 1, "typed"}};
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_input in = {file_read, &fd, 0};
	char name[ELF_NAME_MAX];
	struct elf_symbol s, base;
	struct stat st;
	struct elf *e;

	CHECK(fstat(fd, &st) == 0);
	in.size = (uint64_t)st.st_size;
	CHECK_INT(elf_open(&e, &in), ELF_OK);
	CHECK(elf_find_named(e, "typed", &base));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t at = base.entry + (uint64_t)(cases[i].at - typed);

		CHECK(elf_lookup(e, at + cases[i].entry, &s, name));
		CHECK_STR(name, cases[i].name);
		CHECK_INT(s.entry, at);
	}
	elf_close(e);
	close(fd);
}

int a_variable[4] = {1, 2, 3, 4};

TEST(own_variable)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_input in = {file_read, &fd, 0};
	uint64_t at = (uint64_t)((uintptr_t)a_variable -
	    (uintptr_t)__ehdr_start);
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct stat st;
	struct elf *e;

	CHECK(fstat(fd, &st) == 0);
	in.size = (uint64_t)st.st_size;
	CHECK_INT(elf_open(&e, &in), ELF_OK);
	CHECK(elf_find_data(e, at + sizeof(a_variable) - 1, &s, name));
	CHECK_STR(name, "a_variable");
	CHECK_INT(s.entry, at);
	CHECK_INT(s.size, sizeof(a_variable));
	CHECK(!elf_find_data(e, (uint64_t)((uintptr_t)main -
	    (uintptr_t)__ehdr_start), &s, name));
	CHECK(!elf_find_data(e, UINT64_MAX, &s, name));
	elf_close(e);
	close(fd);
}

/* This program's, which gcc begins as all others, and its loader's. */
TEST(start)
{
	static uint8_t file[4u << 20];
	struct bytes b = {file, 0};
	struct elf *e;
	struct elf_symbol s;
	uint64_t entry;
	FILE *f = fopen("/proc/self/exe", "r");

	CHECK(f != NULL && (b.size = fread(file, 1, sizeof(file), f)) > 0);
	memcpy(&entry, file + offsetof(Elf64_Ehdr, e_entry), sizeof(entry));
	CHECK_INT(open_bytes(&e, &b), ELF_OK);
	CHECK(elf_start(e, entry, &s) && s.entry == entry);
	CHECK(elf_start(e, entry + 0x20, &s) && s.entry == entry);
	CHECK(!elf_start(e, entry + s.size, &s));
	CHECK(!elf_start(e, entry - 1, &s));
	CHECK(!elf_start(e, 0, &s));
	CHECK(!elf_start(e, UINT64_MAX, &s));
	CHECK(!elf_start_of_loader(e, &s));
	elf_close(e);
	fclose(f);
}

int
main(void)
{
	RUN(lookup);
	RUN(addresses);
	RUN(a_build_id_in_a_section_alone);
	RUN(functions_without_names);
	RUN(the_return_from_a_signal);
	RUN(the_return_from_a_context);
	RUN(other_files);
	RUN(any_damage_is_harmless);
	RUN(own_executable);
	RUN(a_symbol_without_a_size_ends_with_its_section);
	RUN(labels_of_assembly_code_are_names);
	RUN(own_variable);
	RUN(start);
	return test_done();
}
