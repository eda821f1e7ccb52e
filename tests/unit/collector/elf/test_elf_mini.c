/*
 * Symbols that are packed into a stripped file: this very program, packed
 * into a file that is made here.
 */
#include <elf.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/collector/elf/bytes.h"

#define NAMES 0x100
#define SECTIONS 0x200
#define PACKED 0x400

/* The file that runs. */
static struct bytes
own_bytes(void)
{
	struct bytes b = {0};
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	b.size = (uint64_t)st.st_size;
	b.p = malloc(b.size);
	CHECK(pread(fd, b.p, b.size, 0) == (ssize_t)b.size);
	close(fd);
	return b;
}

static void
put_section(uint8_t *p, int i, uint32_t name, uint64_t at, uint64_t size)
{
	Elf64_Shdr s = {.sh_name = name, .sh_type = SHT_PROGBITS,
	    .sh_offset = at, .sh_size = size};

	memcpy(p + SECTIONS + i * (int)sizeof(s), &s, sizeof(s));
}

/* A file without symbols that has `plain` packed into it; free p. */
static struct bytes
outer_of(const struct bytes *plain)
{
	static const char names[] = "\0.gnu_debugdata";
	Elf64_Ehdr h = {.e_type = ET_EXEC, .e_machine = EM_X86_64,
	    .e_version = 1, .e_phoff = sizeof(h), .e_shoff = SECTIONS,
	    .e_ehsize = sizeof(h), .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
	    .e_shstrndx = 2};
	size_t bound = lzma_stream_buffer_bound(plain->size), n = 0;
	struct bytes b = {calloc(1, PACKED + bound), 0};

	CHECK_INT(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, plain->p,
	    plain->size, b.p + PACKED, &n, bound), LZMA_OK);
	b.size = PACKED + n;
	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(b.p, &h, sizeof(h));
	memcpy(b.p + NAMES, names, sizeof(names));
	put_section(b.p, 1, 1, PACKED, n);
	put_section(b.p, 2, 0, NAMES, sizeof(names));
	return b;
}

static enum elf_status
open_both(struct bytes *b, struct elf **outer, struct elf **mini)
{
	CHECK_INT(open_bytes(outer, b), ELF_OK);
	return elf_open_mini(mini, *outer);
}

/* The address of main in the file: known to the linker. */
extern const char __ehdr_start[];
int main(void);

TEST(names_of_what_is_packed)
{
	struct bytes own = own_bytes(), b = outer_of(&own);
	uint64_t vaddr = (uint64_t)((const char *)(uintptr_t)&main -
	    __ehdr_start);
	char name[ELF_NAME_MAX];
	struct elf_symbol s;
	struct elf *outer, *mini;

	CHECK_INT(open_both(&b, &outer, &mini), ELF_OK);
	CHECK(mini != NULL);
	CHECK_INT(elf_symbols(outer), 0);
	elf_close(outer);
	free(b.p);
	/* Stands for itself. */
	if (mini != NULL) {
		CHECK(elf_has_symtab(mini));
		CHECK(elf_lookup(mini, vaddr, &s, name) ||
		    elf_lookup(mini, (uint64_t)(uintptr_t)&main, &s, name));
		CHECK_STR(name, "main");
	}
	elf_close(mini);
	free(own.p);
}

TEST(nothing_packed)
{
	struct bytes own = own_bytes();
	struct elf *outer, *mini;

	CHECK_INT(open_both(&own, &outer, &mini), ELF_OK);
	CHECK(mini == NULL);
	elf_close(outer);
	free(own.p);
}

TEST(what_is_packed_is_no_elf)
{
	struct bytes text = {(uint8_t *)strdup("text, not ELF"), 13};
	struct bytes b = outer_of(&text);
	struct elf *outer, *mini;

	CHECK_INT(open_both(&b, &outer, &mini), ELF_NOT_ELF);
	CHECK(mini == NULL);
	elf_close(outer);
	free(b.p);
	free(text.p);
}

/* 200 MB of zeros are 30 KB. */
TEST(more_than_there_is_room_for)
{
	struct bytes zeros = {calloc(1, 200u << 20), 200u << 20};
	struct bytes b = outer_of(&zeros);
	struct elf *outer, *mini;

	CHECK_INT(open_both(&b, &outer, &mini), ELF_TOO_BIG);
	CHECK(mini == NULL);
	elf_close(outer);
	free(b.p);
	free(zeros.p);
}

TEST(any_damage_is_harmless)
{
	struct bytes own = own_bytes(), b = outer_of(&own);
	struct elf *outer, *mini;

	for (size_t i = 0; i < 200; i++) {
		size_t at = PACKED + (b.size - PACKED) / 200 * i;
		uint8_t was = b.p[at];

		b.p[at] = (uint8_t)~was;
		CHECK(open_both(&b, &outer, &mini) != ELF_OK);
		CHECK(mini == NULL);
		elf_close(outer);
		b.p[at] = was;
	}
	for (uint64_t size = b.size; size > PACKED + 1000; size /= 2) {
		struct bytes cut = {b.p, size - 1};

		CHECK(open_both(&cut, &outer, &mini) != ELF_OK);
		elf_close(outer);
	}
	free(b.p);
	free(own.p);
}

int
main(void)
{
	RUN(names_of_what_is_packed);
	RUN(nothing_packed);
	RUN(what_is_packed_is_no_elf);
	RUN(more_than_there_is_room_for);
	RUN(any_damage_is_harmless);
	return test_done();
}
