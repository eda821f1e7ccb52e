/*
 * The dynamic section by way of the program headers, since section headers
 * may have been stripped.
 */
#include "fcgi/graph/read/elf_deps.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"

#define HEADERS_MAX 256u
#define DYNAMIC_MAX (1u << 20)
#define STRINGS_MAX (16u << 20)

struct elf_reader {
	Elf *elf;
	GElf_Phdr headers[HEADERS_MAX];
	size_t n;
	const char *strings; /* NULL: none */
	size_t n_strings;
};

/* Offset in the file of an address in memory; false when no segment has it;
 * *left is what the segment holds from there. */
static bool
elf_deps_offset(const struct elf_reader *r, uint64_t address,
    uint64_t *offset, uint64_t *left)
{
	for (size_t i = 0; i < r->n; i++) {
		const GElf_Phdr *h = &r->headers[i];

		if (h->p_type != PT_LOAD || address < h->p_vaddr ||
		    address - h->p_vaddr >= h->p_filesz)
			continue;
		*offset = h->p_offset + (address - h->p_vaddr);
		*left = h->p_filesz - (address - h->p_vaddr);
		return *offset >= h->p_offset;
	}
	return false;
}

static void
elf_deps_strings(struct elf_reader *r, uint64_t address, uint64_t size)
{
	uint64_t offset, left;
	Elf_Data *d;

	if (!elf_deps_offset(r, address, &offset, &left) || size > left ||
	    size > STRINGS_MAX || size == 0)
		return;
	d = elf_getdata_rawchunk(r->elf, (int64_t)offset, size, ELF_T_BYTE);
	if (d == NULL || d->d_size < size)
		return;
	r->strings = d->d_buf;
	r->n_strings = size;
}

/* A copy of a string of the table; NULL when it does not end there. */
static char *
elf_deps_string(const struct elf_reader *r, uint64_t at)
{
	if (r->strings == NULL || at >= r->n_strings ||
	    memchr(r->strings + at, 0, r->n_strings - at) == NULL)
		return NULL;
	return strdup(r->strings + at);
}

static void
elf_deps_take(struct elf_deps *d, const struct elf_reader *r,
    const GElf_Dyn *dyn)
{
	char **to = NULL;

	if (dyn->d_tag == DT_NEEDED && d->n_needed < ELF_NEEDED_MAX)
		to = &d->needed[d->n_needed];
	else if (dyn->d_tag == DT_RPATH && d->rpath == NULL)
		to = &d->rpath;
	else if (dyn->d_tag == DT_RUNPATH && d->runpath == NULL)
		to = &d->runpath;
	else if (dyn->d_tag == DT_NEEDED)
		d->partly = true;
	if (to == NULL)
		return;
	if ((*to = elf_deps_string(r, dyn->d_un.d_val)) == NULL) {
		d->partly = true;
		return;
	}
	if (dyn->d_tag == DT_NEEDED)
		d->n_needed++;
}

static void
elf_deps_dynamic(struct elf_deps *d, struct elf_reader *r,
    const GElf_Phdr *header)
{
	uint64_t strings = 0, size = 0;
	Elf_Data *data = NULL;
	GElf_Dyn dyn;

	if (header->p_filesz <= DYNAMIC_MAX)
		data = elf_getdata_rawchunk(r->elf, (int64_t)header->p_offset,
		    header->p_filesz, ELF_T_DYN);
	if (data == NULL) {
		d->partly = true;
		return;
	}
	for (int i = 0; gelf_getdyn(data, i, &dyn) != NULL &&
	    dyn.d_tag != DT_NULL; i++) {
		if (dyn.d_tag == DT_STRTAB)
			strings = dyn.d_un.d_ptr;
		if (dyn.d_tag == DT_STRSZ)
			size = dyn.d_un.d_val;
	}
	elf_deps_strings(r, strings, size);
	for (int i = 0; gelf_getdyn(data, i, &dyn) != NULL &&
	    dyn.d_tag != DT_NULL; i++)
		elf_deps_take(d, r, &dyn);
}

static void
elf_deps_code(struct elf_deps *d, const struct elf_reader *r)
{
	GElf_Shdr section;
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(r->elf, scn)) != NULL)
		if (gelf_getshdr(scn, &section) != NULL &&
		    (section.sh_flags & SHF_EXECINSTR) != 0 &&
		    section.sh_type != SHT_NOBITS &&
		    section.sh_size < INT64_MAX / 4 - (uint64_t)d->code_bytes)
			d->code_bytes += (int64_t)section.sh_size;
	for (size_t i = 0; scn == NULL && d->code_bytes == 0 && i < r->n; i++)
		if (r->headers[i].p_type == PT_LOAD &&
		    (r->headers[i].p_flags & PF_X) != 0 &&
		    r->headers[i].p_filesz < INT64_MAX / 4)
			d->code_bytes += (int64_t)r->headers[i].p_filesz;
}

/* The note "GNU" of type 3 among those of a segment, or a section. */
static void
elf_deps_notes(struct elf_deps *d, const struct elf_reader *r, uint64_t from,
    uint64_t size)
{
	size_t at = 0, name, desc;
	Elf_Data *data;
	GElf_Nhdr note;

	if (size > DYNAMIC_MAX || d->build_id[0] != '\0')
		return;
	data = elf_getdata_rawchunk(r->elf, (int64_t)from, size, ELF_T_NHDR);
	while (data != NULL &&
	    (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
		const uint8_t *p = (const uint8_t *)data->d_buf + desc;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((const char *)data->d_buf + name, "GNU", 4) != 0)
			continue;
		for (size_t i = 0; i < note.n_descsz && i < 64; i++)
			snprintf(d->build_id + 2 * i, 3, "%02x", p[i]);
	}
}

/* Linkers' scripts of one's own have a section for it, and no segment. */
static void
elf_deps_build_id(struct elf_deps *d, const struct elf_reader *r)
{
	GElf_Shdr section;
	Elf_Scn *scn = NULL;

	for (size_t i = 0; i < r->n; i++)
		if (r->headers[i].p_type == PT_NOTE)
			elf_deps_notes(d, r, r->headers[i].p_offset,
			    r->headers[i].p_filesz);
	while (d->build_id[0] == '\0' &&
	    (scn = elf_nextscn(r->elf, scn)) != NULL)
		if (gelf_getshdr(scn, &section) != NULL &&
		    section.sh_type == SHT_NOTE)
			elf_deps_notes(d, r, section.sh_offset,
			    section.sh_size);
}

/* Is all of it there that it says it has? */
static bool
elf_deps_is_whole(const struct elf_reader *r, const GElf_Ehdr *header,
    size_t n, uint64_t size)
{
	if (r->n < n || (header->e_shoff != 0 && (header->e_shoff > size ||
	    size - header->e_shoff < (uint64_t)header->e_shnum *
	    header->e_shentsize)))
		return false;
	for (size_t i = 0; i < r->n; i++)
		if (r->headers[i].p_filesz > 0 &&
		    (r->headers[i].p_offset > size ||
		    r->headers[i].p_filesz > size - r->headers[i].p_offset))
			return false;
	return true;
}

static const struct err *
elf_deps_parse(struct elf_deps *d, struct elf_reader *r, const char *path,
    uint64_t size)
{
	GElf_Ehdr header;
	size_t n;

	if (elf_kind(r->elf) != ELF_K_ELF ||
	    gelf_getehdr(r->elf, &header) == NULL ||
	    (header.e_type != ET_EXEC && header.e_type != ET_DYN) ||
	    elf_getphdrnum(r->elf, &n) != 0)
		return err_new(ERR_FORMAT, 0,
		    "%s: neither a program nor a library", path);
	d->machine = header.e_machine;
	d->class = gelf_getclass(r->elf);
	for (size_t i = 0; i < n && r->n < HEADERS_MAX; i++)
		if (gelf_getphdr(r->elf, (int)i, &r->headers[r->n]) != NULL)
			r->n++;
	d->partly = !elf_deps_is_whole(r, &header, n, size);
	for (size_t i = 0; i < r->n; i++)
		if (r->headers[i].p_type == PT_DYNAMIC) {
			elf_deps_dynamic(d, r, &r->headers[i]);
			break;
		}
	elf_deps_build_id(d, r);
	elf_deps_code(d, r);
	return NULL;
}

const struct err *
elf_deps_read(struct elf_deps *d, const char *path)
{
	struct elf_reader r = {0};
	const struct err *e;
	struct stat st;
	int fd;

	memset(d, 0, sizeof(*d));
	elf_version(EV_CURRENT);
	/* a FIFO or a device would hang or surprise */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_errno("%s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		e = err_new(ERR_FORMAT, 0, "%s: not a regular file", path);
	else if ((r.elf = elf_begin(fd, ELF_C_READ, NULL)) == NULL)
		e = err_new(ERR_FORMAT, 0, "%s: not an ELF file", path);
	else
		e = elf_deps_parse(d, &r, path, (uint64_t)st.st_size);
	elf_end(r.elf);
	close(fd);
	return e;
}

void
elf_deps_fini(struct elf_deps *d)
{
	for (size_t i = 0; i < d->n_needed; i++)
		free(d->needed[i]);
	free(d->rpath);
	free(d->runpath);
	memset(d, 0, sizeof(*d));
}
