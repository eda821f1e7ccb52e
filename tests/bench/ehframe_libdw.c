/*
 * Compares the unwind table of each file with libdw, row by row: every row
 * that libdw knows must be in the table, every row of the table must be
 * libdw's.
 *
 *	ehframe_libdw [-v] FILE...      or a list of names on standard input
 *
 * Functions are enumerated by the linker's index, .eh_frame_hdr, which our
 * reader does not look at.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/symbols/unwind_read.h"

#define ROWS_MAX (64u << 20)
#define SHOWN 3 /* differences of a file */
#define THEY_REFUSE 255 /* a kind: libdw has no CFA, not even an odd one */

struct totals {
	uint64_t files, without, functions, rows, compared, different;
	uint64_t unsupported, failed;
	uint64_t refused; /* rows that libdw calls invalid, where we go on */
	double ms;
};

struct compare {
	const char *path;
	Dwarf_CFI *cfi;
	struct unwind_file file;
	GElf_Phdr code[16];
	size_t n_code;
	struct totals *totals;
	unsigned shown;
};

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool
file_read(void *arg, uint64_t at, void *p, size_t n)
{
	memcpy(p, (const char *)arg + at, n);
	return true;
}

static bool
pc_to_vaddr(const struct compare *c, uint64_t pc, Dwarf_Addr *vaddr)
{
	size_t i;

	for (i = 0; i < c->n_code; i++) {
		if (pc < c->code[i].p_offset ||
		    pc - c->code[i].p_offset >= c->code[i].p_filesz)
			continue;
		*vaddr = c->code[i].p_vaddr + pc - c->code[i].p_offset;
		return true;
	}
	return false;
}

static bool
vaddr_to_pc(const struct compare *c, Dwarf_Addr vaddr, uint64_t *pc)
{
	size_t i;

	for (i = 0; i < c->n_code; i++) {
		if (vaddr < c->code[i].p_vaddr ||
		    vaddr - c->code[i].p_vaddr >= c->code[i].p_filesz)
			continue;
		*pc = c->code[i].p_offset + vaddr - c->code[i].p_vaddr;
		return true;
	}
	return false;
}

static struct unwind_row
ours(const struct compare *c, uint64_t pc)
{
	size_t low = 0, high = c->file.rows.n, mid;
	static const struct unwind_row none;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (c->file.rows.rows[mid].pc <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? c->file.rows.rows[low - 1] : none;
}

/* "register + n" as libdw writes it. */
static bool
is_breg(const Dwarf_Op *op, unsigned reg, int64_t *n)
{
	if (op->atom == DW_OP_bregx && op->number == reg) {
		*n = (int64_t)op->number2;
		return true;
	}
	*n = (int64_t)op->number;
	return op->atom == DW_OP_breg0 + reg;
}

static bool
is_plt(const Dwarf_Op *o, size_t n, unsigned *from)
{
	int64_t sp, ip;

	*from = n > 4 ? o[4].atom - DW_OP_lit0 : 0;
	return n == 9 && is_breg(&o[0], 7, &sp) && sp == 8 &&
	    is_breg(&o[1], 16, &ip) && ip == 0 && o[2].atom == DW_OP_lit15 &&
	    o[3].atom == DW_OP_and && *from < 16 && o[5].atom == DW_OP_ge &&
	    o[6].atom == DW_OP_lit3 && o[7].atom == DW_OP_shl &&
	    o[8].atom == DW_OP_plus;
}

static bool
their_cfa(Dwarf_Frame *f, struct unwind_row *row)
{
	Dwarf_Op *o;
	size_t n;
	int64_t offset;
	unsigned reg, from;

	if (dwarf_frame_cfa(f, &o, &n) != 0 || n == 0)
		return false;
	if (is_plt(o, n, &from)) {
		row->kind = UNWIND_PLT;
		row->cfa = (__u16)from;
		return true;
	}
	if (n == 1 && (is_breg(&o[0], 10, &offset) ||
	    is_breg(&o[0], 3, &offset))) {
		row->kind = is_breg(&o[0], 3, &offset) ? UNWIND_BX :
		    UNWIND_R10;
		row->cfa = (__u16)(offset / 8);
		return offset >= 0 && offset % 8 == 0 &&
		    offset / 8 <= UNWIND_CFA_MAX;
	}
	reg = is_breg(&o[0], 7, &offset) ? 7 : 6;
	if (!is_breg(&o[0], reg, &offset) || offset % 8 != 0)
		return false;
	row->kind = reg == 7 ? UNWIND_SP : UNWIND_BP;
	if (n == 2 && o[1].atom == DW_OP_deref) {
		row->kind = reg == 7 ? UNWIND_AT_SP : UNWIND_AT_BP;
		offset += 8 * UNWIND_CFA_ZERO;
		n = 1;
	}
	if (row->kind == UNWIND_SP && offset / 8 >= UNWIND_CFA_FAR) {
		row->kind = UNWIND_SP_FAR;
		offset -= 8 * UNWIND_CFA_FAR;
	}
	row->cfa = (__u16)(offset / 8);
	return n == 1 && offset >= 0 && offset / 8 <= UNWIND_CFA_MAX;
}

/* How libdw finds a register: 's'ame, 'u'ndefined, 'o'ffset from the CFA,
 * at 'b'p + n or at s'p' + n, in r'd'i, '?' another way. */
static char
their_rule(Dwarf_Frame *f, int reg, int64_t *offset)
{
	Dwarf_Op mem[3], *o;
	size_t n;

	*offset = 0;
	if (dwarf_frame_register(f, reg, mem, &o, &n) != 0)
		return '?';
	if (n == 0)
		return o == NULL ? 's' : 'u';
	if (n >= 1 && n <= 2 && o[0].atom == DW_OP_call_frame_cfa &&
	    (n == 1 || o[1].atom == DW_OP_plus_uconst)) {
		*offset = n == 2 ? (int64_t)o[1].number : 0;
		return 'o';
	}
	if (o[0].atom == DW_OP_call_frame_cfa) {
		o++;
		n--;
	}
	if (n != 1)
		return '?';
	if (o[0].atom == DW_OP_regx && o[0].number == 5)
		return 'd';
	return is_breg(o, 6, offset) ? 'b' : is_breg(o, 7, offset) ? 'p' :
	    '?';
}

static struct unwind_row
theirs(Dwarf_Frame *f)
{
	struct unwind_row row = {0};
	static const struct unwind_row unsupported = {
	    .kind = UNWIND_UNSUPPORTED};
	int64_t bp_offset, ra_offset;
	bool signal = false;
	Dwarf_Op *ops;
	size_t n_ops;
	char bp = their_rule(f, 6, &bp_offset);
	char ra = their_rule(f, 16, &ra_offset);

	dwarf_frame_info(f, NULL, NULL, &signal);
	if (signal && bp == 'p' && bp_offset == 120 && ra == 'p' &&
	    ra_offset == 168)
		return (struct unwind_row){.kind = UNWIND_SIGNAL};
	if (ra == 'u')
		return (struct unwind_row){.kind = UNWIND_STOP};
	if (dwarf_frame_cfa(f, &ops, &n_ops) != 0)
		return (struct unwind_row){.kind = THEY_REFUSE};
	if (!signal && ra == 'd' && bp == 's' && their_cfa(f, &row) &&
	    row.kind == UNWIND_SP) {
		row.kind = UNWIND_DI;
		return row;
	}
	row = (struct unwind_row){0};
	if (signal || ra != 'o' || ra_offset != -8 || !their_cfa(f, &row))
		return unsupported;
	if (bp == 'b' && bp_offset == 0)
		row.bp = UNWIND_BP_AT_BP;
	else if (bp == 'o' && bp_offset < 0 && bp_offset % 8 == 0 &&
	    bp_offset / -8 <= UNWIND_BP_MAX)
		row.bp = (__u8)(bp_offset / -8);
	else if (bp != 's' && bp != 'u')
		return unsupported;
	return row;
}

static void
check(struct compare *c, uint64_t pc, const struct unwind_row *want)
{
	struct unwind_row got = ours(c, pc);

	c->totals->compared++;
	/* Of UNWIND_BX bp says what a callee has saved. */
	if (got.kind == want->kind && got.cfa == want->cfa &&
	    (got.bp == want->bp || got.kind == UNWIND_BX))
		return;
	if (want->kind == THEY_REFUSE) {
		c->totals->refused++;
		return;
	}
	c->totals->different++;
	if (c->shown++ < SHOWN)
		printf("# %s+0x%llx: kind %u cfa %u bp %u, libdw: kind %u "
		    "cfa %u bp %u\n", c->path, (unsigned long long)pc,
		    got.kind, got.cfa, got.bp, want->kind, want->cfa,
		    want->bp);
}

/* Every row of libdw from `at` up to the next function. */
static void
compare_function(struct compare *c, Dwarf_Addr at, Dwarf_Addr next)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *f;
	struct unwind_row want;
	uint64_t pc;
	bool signal;

	while (at < next && vaddr_to_pc(c, at, &pc)) {
		if (dwarf_cfi_addrframe(c->cfi, at, &f) != 0)
			return;
		dwarf_frame_info(f, &start, &end, &signal);
		want = theirs(f);
		free(f);
		if (end <= at)
			return;
		if (end > next)
			end = next;
		check(c, pc, &want);
		if (vaddr_to_pc(c, end - 1, &pc))
			check(c, pc, &want);
		at = end;
	}
}

static void
compare_by_index(struct compare *c, const uint8_t *p, size_t size,
    const GElf_Phdr *hdr)
{
	int32_t entry[2];
	uint32_t n, i;
	Dwarf_Addr next;

	if (hdr->p_filesz < 12 || hdr->p_offset > size ||
	    hdr->p_filesz > size - hdr->p_offset)
		return;
	p += hdr->p_offset;
	memcpy(&n, p + 8, sizeof(n));
	if (p[2] != 0x03 || p[3] != 0x3b || n > (hdr->p_filesz - 12) / 8)
		return;
	for (i = 0; i < n; i++) {
		next = UINT64_MAX;
		if (i + 1 < n) {
			memcpy(entry, p + 12 + 8 * (i + 1), 8);
			next = hdr->p_vaddr + (uint64_t)(int64_t)entry[0];
		}
		memcpy(entry, p + 12 + 8 * i, 8);
		c->totals->functions++;
		compare_function(c, hdr->p_vaddr +
		    (uint64_t)(int64_t)entry[0], next);
	}
}

/* Every row of ours. */
static void
compare_rows(struct compare *c)
{
	static const struct unwind_row none;
	struct unwind_row want;
	Dwarf_Frame *f;
	Dwarf_Addr vaddr;
	size_t i;

	for (i = 0; i < c->file.rows.n; i++) {
		const struct unwind_row *r = &c->file.rows.rows[i];

		if (i > 0 && r->pc <= r[-1].pc)
			c->totals->different++;
		if (!pc_to_vaddr(c, r->pc, &vaddr))
			continue;
		if (dwarf_cfi_addrframe(c->cfi, vaddr, &f) != 0) {
			/* Or by the code's instructions: see prologue.h. */
			check(c, r->pc, r->kind == UNWIND_UNSUPPORTED ||
			    r->kind == UNWIND_SP ? r : &none);
			continue;
		}
		want = theirs(f);
		free(f);
		check(c, r->pc, &want);
	}
}

static void
compare_elf(struct compare *c, Elf *elf, const uint8_t *p, size_t size)
{
	struct elf_input in = {.read = file_read,
	    .arg = (void *)(uintptr_t)p, .size = size};
	GElf_Phdr ph, hdr = {0};
	size_t n = 0, i;
	double began = now_ms();

	if (unwind_read(&in, UNWIND_READ_ALL, ROWS_MAX, &c->file) != ELF_OK) {
		c->totals->failed++;
		printf("# %s: not read\n", c->path);
		return;
	}
	c->totals->ms += now_ms() - began;
	elf_getphdrnum(elf, &n);
	for (i = 0; i < n; i++) {
		gelf_getphdr(elf, (int)i, &ph);
		if (ph.p_type == PT_GNU_EH_FRAME)
			hdr = ph;
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X) != 0 &&
		    c->n_code < 16)
			c->code[c->n_code++] = ph;
	}
	c->cfi = dwarf_getcfi_elf(elf);
	c->totals->files++;
	c->totals->rows += c->file.rows.n;
	c->totals->unsupported += c->file.rows.unsupported;
	if (c->cfi == NULL || hdr.p_filesz == 0)
		c->totals->without++;
	if (c->cfi == NULL)
		return;
	compare_by_index(c, p, size, &hdr);
	compare_rows(c);
	dwarf_cfi_end(c->cfi);
}

static void
compare_file(const char *path, struct totals *t, bool verbose)
{
	struct compare c = {.path = path, .totals = t};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *p;
	Elf *elf;
	GElf_Ehdr head;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 64) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED && memcmp(p, ELFMAG, SELFMAG) == 0 &&
		    p[EI_CLASS] == ELFCLASS64 &&
		    (elf = elf_memory((char *)p, (size_t)st.st_size)) !=
		    NULL) {
			if (gelf_getehdr(elf, &head) != NULL &&
			    head.e_machine == EM_X86_64 &&
			    (head.e_type == ET_EXEC || head.e_type == ET_DYN))
				compare_elf(&c, elf, p, (size_t)st.st_size);
			elf_end(elf);
		}
		if (p != MAP_FAILED)
			munmap(p, (size_t)st.st_size);
	}
	close(fd);
	if (verbose)
		printf("%s: %zu rows, %zu functions, %zu unsupported\n", path,
		    c.file.rows.n, c.file.rows.functions,
		    c.file.rows.unsupported);
	free(c.file.rows.rows);
}

int
main(int argc, char **argv)
{
	struct totals t = {0};
	char path[4096];
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	int i;

	elf_version(EV_CURRENT);
	for (i = verbose ? 2 : 1; i < argc; i++)
		compare_file(argv[i], &t, verbose);
	while (argc == 1 && fgets(path, sizeof(path), stdin) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		compare_file(path, &t, false);
	}
	printf("%llu files (%llu without index or CFI, %llu not read), "
	    "%llu functions, %llu rows (%llu unsupported), %.0f ms\n",
	    (unsigned long long)t.files, (unsigned long long)t.without,
	    (unsigned long long)t.failed, (unsigned long long)t.functions,
	    (unsigned long long)t.rows, (unsigned long long)t.unsupported,
	    t.ms);
	printf("%llu comparisons, %llu different, %llu refused by libdw\n",
	    (unsigned long long)t.compared, (unsigned long long)t.different,
	    (unsigned long long)t.refused);
	return t.different != 0 || t.failed != 0;
}
