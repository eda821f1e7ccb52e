/*
 * From a file to rows, where entries of .eh_frame need others: code that finds
 * its frame by rbx, and what it calls.
 */
#include <elf.h>
#include <stdlib.h>

#include "collector/symbols/unwind_read.h"
#include "tests/unit/test.h"

#define VADDR 0x400000u /* of the file's first byte */
#define BINDER 0x1000u
#define CALLED 0x1100u  /* functions of 64 bytes each */
#define HDR 0x2000u
#define EH_FRAME 0x2100u
#define SIZE 0x3000u
#define FUNCTIONS 7

static uint8_t file[SIZE];
static uint32_t end; /* of .eh_frame so far */

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	(void)arg;
	CHECK(at <= SIZE && n <= SIZE - at);
	memcpy(p, file + at, n);
	return true;
}

static void
put4(uint32_t at, uint32_t v)
{
	memcpy(file + at, &v, 4);
}

/* An entry's instructions end it. */
static void
put_end(uint32_t begin, const uint8_t *code, size_t n)
{
	memcpy(file + end, code, n);
	end += (uint32_t)n;
	while ((end - begin) % 8 != 4)
		file[end++] = 0;
	put4(begin, end - begin - 4);
}

static void
put_cie(void)
{
	static const uint8_t head[] = {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b,
	    0x0c, 7, 8, 0x90, 1};
	uint32_t begin = end;

	put4(begin + 4, 0);
	end += 8;
	put_end(begin, head, sizeof(head));
}

/* The entry of the next function, in the index, too. */
static void
put_function(uint32_t at, uint32_t size, const uint8_t *code, size_t n)
{
	uint32_t i, begin = end;

	memcpy(&i, file + HDR + 8, 4);
	put4(HDR + 8, i + 1);
	put4(HDR + 12 + 8 * i, at - HDR);
	put4(HDR + 16 + 8 * i, begin - HDR);
	put4(begin + 4, begin + 4 - EH_FRAME);
	put4(begin + 8, at - (begin + 8));
	put4(begin + 12, size);
	file[begin + 16] = 0;
	end = begin + 17;
	put_end(begin, code, n);
}

#define PUT_FUNCTION(at, size, ...) put_function(at, size, \
	(const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void
put_call(uint32_t at, uint32_t to)
{
	file[at] = 0xe8;
	put4(at + 1, to - (at + 5));
}

static uint32_t
called(uint32_t i)
{
	return CALLED + 64 * i;
}

/*
 * The binder calls: one that saves rbx with its second push; one that calls
 * before it saves it; one that saves it in two places; one that has it back
 * before its end; one that never saves it; one that saves it and has its CFA
 * in a register that is not known; and the first one, behind its first byte.
 */
static void
make_file(void)
{
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_ehsize = sizeof(h),
	    .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2};
	Elf64_Phdr ph[] = {{.p_type = PT_LOAD, .p_flags = PF_R | PF_X,
	    .p_vaddr = VADDR, .p_filesz = SIZE, .p_memsz = SIZE},
	    {.p_type = PT_GNU_EH_FRAME, .p_offset = HDR,
	    .p_vaddr = VADDR + HDR, .p_filesz = 0x100, .p_memsz = 0x100}};

	memset(file, 0x90, HDR);
	memset(file + HDR, 0, SIZE - HDR);
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), ph, sizeof(ph));
	memcpy(file + HDR, "\1\x1b\3\x3b", 4);
	put4(HDR + 4, EH_FRAME - HDR - 4);
	end = EH_FRAME;
	put_cie();
	PUT_FUNCTION(BINDER, 0x100, 0x41, 0x0e, 32, 0x83, 4, 0x43, 0x0d, 3);
	PUT_FUNCTION(called(0), 64, 0x41, 0x0e, 16, 0x86, 2, 0x41, 0x0e, 24,
	    0x83, 3, 0x60, 0x0e, 8);
	PUT_FUNCTION(called(1), 64, 0x46, 0x0e, 16, 0x83, 2);
	put_call(called(1), called(0));
	PUT_FUNCTION(called(2), 64, 0x41, 0x0e, 16, 0x83, 2, 0x60, 0x83, 3);
	PUT_FUNCTION(called(3), 64, 0x41, 0x0e, 16, 0x83, 2, 0x60, 0xc3);
	PUT_FUNCTION(called(4), 64, 0x41, 0x0e, 16);
	PUT_FUNCTION(called(5), 64, 0x41, 0x0e, 16, 0x83, 2, 0x60, 0x0d, 9);
	for (uint32_t i = 0; i < FUNCTIONS - 1; i++)
		put_call(BINDER + 16 * (i + 1), called(i));
	put_call(BINDER + 16 * FUNCTIONS, called(0) + 1);
}

static const struct unwind_row *
row_at(const struct unwind_file *f, uint32_t pc)
{
	size_t i = f->rows.n;

	while (i > 0 && f->rows.rows[i - 1].pc > pc)
		i--;
	return i > 0 ? &f->rows.rows[i - 1] : NULL;
}

TEST(what_a_callee_has_saved)
{
	struct elf_input in = {file_read, NULL, SIZE};
	const struct unwind_row *row;
	struct unwind_file f;
	uint32_t pc;
	bool call;

	make_file();
	CHECK_INT(unwind_read(&in, 0, UNWIND_ROWS_MAX, &f), ELF_OK);
	for (pc = BINDER + 4; pc < BINDER + 0x100; pc++) {
		row = row_at(&f, pc);
		call = pc >= BINDER + 16 && pc < BINDER + 16 + 5;
		CHECK(row != NULL && row->kind == UNWIND_BX &&
		    row->cfa == 4 && row->bp == (call ? 3 : 0));
	}
	for (size_t i = 1; i < f.rows.n; i++)
		CHECK(f.rows.rows[i - 1].pc < f.rows.rows[i].pc);
	pc = (uint32_t)f.rows.n;
	free(f.rows.rows);
	/* As many as it takes, and not one less. */
	CHECK_INT(unwind_read(&in, 0, pc, &f), ELF_OK);
	free(f.rows.rows);
	CHECK_INT(unwind_read(&in, 0, pc - 1, &f), ELF_TOO_BIG);
	CHECK(f.rows.rows == NULL);
}

/* Two files were given one build id: the rows of the one were used for the
 * other. */
TEST(a_build_id_is_not_enough)
{
	static const char note[] = "\4\0\0\0\2\0\0\0\3\0\0\0GNU\0ID";
	Elf64_Phdr where = {.p_type = PT_NOTE, .p_offset = 0x800,
	    .p_filesz = sizeof(note) + 1, .p_memsz = sizeof(note) + 1};
	struct elf_input in = {file_read, NULL, SIZE};
	struct unwind_file a, b;
	size_t i;

	make_file();
	memcpy(file + sizeof(Elf64_Ehdr) + 2 * sizeof(where), &where,
	    sizeof(where));
	file[offsetof(Elf64_Ehdr, e_phnum)] = 3;
	memset(file + 0x800, 0, sizeof(note) + 1);
	memcpy(file + 0x800, note, sizeof(note) - 1);
	for (i = 0; i < 3; i++) {
		CHECK_INT(unwind_read(&in, 0, UNWIND_ROWS_MAX, &a), ELF_OK);
		CHECK_INT(a.id_len, 2 + 8);
		CHECK(memcmp(a.id, "ID", 2) == 0);
		if (i > 0)
			CHECK_INT(memcmp(a.id, b.id, a.id_len) == 0, i == 1);
		b = a;
		free(a.rows.rows);
		if (i == 0)
			file[0x900] = 1; /* another constant */
		else
			file[end - 1]++; /* a function's frame */
	}
}

/* Of a library of data, as of others, the linker's code is known. */
TEST(a_file_without_eh_frame)
{
	struct elf_input in = {file_read, NULL, SIZE};
	Elf64_Shdr text = {.sh_type = SHT_PROGBITS,
	    .sh_flags = SHF_EXECINSTR, .sh_offset = 0x1000};
	const struct unwind_row *row;
	struct unwind_file f;

	make_file();
	file[offsetof(Elf64_Ehdr, e_phnum)] = 1;
	memset(file + HDR, 0, SIZE - HDR);
	memcpy(file + 0x1000, "\x55\x48\x89\xe5\x5d\xc3", 6);
	CHECK_INT(unwind_read(&in, 0, UNWIND_ROWS_MAX, &f), ELF_OK);
	CHECK(f.code.n == 0 && f.rows.n == 0); /* where would it begin? */
	free(f.rows.rows);
	memcpy(file + HDR, &text, sizeof(text));
	file[offsetof(Elf64_Ehdr, e_shoff) + 1] = HDR >> 8;
	file[offsetof(Elf64_Ehdr, e_shentsize)] = sizeof(text);
	file[offsetof(Elf64_Ehdr, e_shnum)] = 1;
	CHECK_INT(unwind_read(&in, 0, UNWIND_ROWS_MAX, &f), ELF_OK);
	row = row_at(&f, 0x1001);
	CHECK(f.code.n == 1 && row != NULL && row->kind == UNWIND_SP &&
	    row->cfa == 2 && row->bp == 2);
	free(f.rows.rows);
}

int
main(void)
{
	RUN(what_a_callee_has_saved);
	RUN(a_build_id_is_not_enough);
	RUN(a_file_without_eh_frame);
	return test_done();
}
