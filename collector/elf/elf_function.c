/*
 * Borders of functions from the sorted index of .eh_frame.
 *
 * .eh_frame_hdr, in the one form that linkers write:
 *	OFFSET SIZE
 *	0      1    version, 1
 *	1      1    0x1b: .eh_frame's address, relative, 4 bytes
 *	2      1    0x03: number of entries, 4 bytes
 *	3      1    0x3b: entries are relative to this header, 4 bytes
 *	4      4    address of .eh_frame
 *	8      4    n
 *	12     8n   (function's start, its FDE), sorted, signed
 *
 * An FDE: length, distance to its CIE, start (relative to itself), size.
 * The start must agree with the index; that also proves the encoding.
 */
#include <string.h>

#include "collector/elf/elf_private.h"

#define HDR 12

struct entry {
	int32_t start, fde;
};

static bool
function_read(const struct elf *e, uint64_t vaddr, void *p, size_t n)
{
	uint64_t at;

	return elf_offset(e, vaddr, &at) && elf_read(e, at, p, n);
}

/* The number of entries of the index, 0 when it has another form. */
static uint32_t
function_count(const struct elf *e)
{
	struct {
		uint8_t version, ptr, count, table;
		int32_t frame;
		uint32_t n;
	} head;

	if (e->hdr_size < HDR ||
	    !function_read(e, e->hdr_vaddr, &head, sizeof(head)) ||
	    head.version != 1 || head.ptr != 0x1b || head.count != 0x03 ||
	    head.table != 0x3b || head.n > (e->hdr_size - HDR) / 8)
		return 0;
	return head.n;
}

static bool
function_at(const struct elf *e, uint32_t i, struct entry *out)
{
	return function_read(e, e->hdr_vaddr + HDR + i * 8ull, out,
	    sizeof(*out));
}

/* How many of n entries start at or before vaddr; 0 also when one cannot be
 * read. */
static uint32_t
function_search(const struct elf *e, uint32_t n, uint64_t vaddr)
{
	int64_t want = (int64_t)(vaddr - e->hdr_vaddr);
	uint32_t low = 0, high = n, mid;
	struct entry x;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (!function_at(e, mid, &x))
			return 0;
		if (x.start <= want)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

#define STEP 4096 /* entries read at once */

/* Puts where the entries i to i + n - 1 are; false when it cannot be read. */
static bool
function_list(const struct elf *e, uint32_t i, uint32_t n, uint64_t *out)
{
	struct entry x[STEP];
	uint32_t k, part;

	for (; n > 0; i += part, n -= part) {
		part = n < STEP ? n : STEP;
		if (!function_read(e, e->hdr_vaddr + HDR + i * 8ull, x,
		    part * sizeof(x[0])))
			return false;
		for (k = 0; k < part; k++)
			*out++ = e->hdr_vaddr + (uint64_t)(int64_t)x[k].fde;
	}
	return true;
}

size_t
elf_function_entries(const struct elf *e, uint64_t low, uint64_t high,
    uint64_t *out, size_t max)
{
	uint32_t all = function_count(e), from, to, n;

	if (all == 0)
		return 0;
	from = function_search(e, all, low);
	to = function_search(e, all, high);
	from = from > ELF_ENTRIES_BEFORE ? from - ELF_ENTRIES_BEFORE : 0;
	to = to < all ? to + 1 : all;
	n = to > from ? to - from : 0;
	if (n > max)
		n = (uint32_t)max;
	return function_list(e, from, n, out) ? n : 0;
}

bool
elf_function_before(const struct elf *e, uint64_t vaddr,
    struct elf_symbol *out)
{
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t size;
	} fde;
	uint32_t n = function_search(e, function_count(e), vaddr);
	struct entry x;
	uint64_t at;

	if (n == 0 || !function_at(e, n - 1, &x))
		return false;
	at = e->hdr_vaddr + (uint64_t)(int64_t)x.fde;
	if (!function_read(e, at, &fde, sizeof(fde)) || fde.length < 12 ||
	    fde.cie == 0)
		return false;
	out->entry = e->hdr_vaddr + (uint64_t)(int64_t)x.start;
	out->size = fde.size;
	return at + 8 + (uint64_t)(int64_t)fde.start == out->entry;
}

bool
elf_function(const struct elf *e, uint64_t vaddr, struct elf_symbol *out)
{
	return elf_function_before(e, vaddr, out) &&
	    vaddr - out->entry < out->size;
}

/*
 * Where a signal's handler returns to.  C libraries have no symbol for it, but
 * debuggers know it by its bytes, which therefore never change:
 *
 *	mov $15,%rax; syscall
 */
bool
elf_signal_return(const struct elf *e, uint64_t vaddr, struct elf_symbol *out)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 15, 5};
	uint8_t bytes[2 * sizeof(code)];
	uint64_t at;
	size_t i;

	/* The address is of its first byte up to its last, or, of a caller,
	 * of the byte before. */
	if (vaddr < sizeof(code) || !elf_offset(e, vaddr - sizeof(code) + 1,
	    &at) || !elf_read(e, at, bytes, sizeof(bytes)))
		return false;
	for (i = 0; i <= sizeof(code); i++) {
		if (memcmp(bytes + i, code, sizeof(code)) != 0)
			continue;
		out->entry = vaddr - sizeof(code) + 1 + i;
		out->size = sizeof(code);
		return true;
	}
	return false;
}

/*
 * Where programs and the loader begin:
 *
 *	[endbr64;] xor %ebp,%ebp        the GNU C library, its static form
 *	xor %rbp,%rbp                   musl
 *	mov %rsp,%rdi; call _dl_start   the GNU C library's loader
 */
bool
elf_start_of_loader(const struct elf *e, struct elf_symbol *out)
{
	static const uint8_t code[] = {0x48, 0x89, 0xe7, 0xe8};
	uint8_t bytes[sizeof(code)];

	*out = (struct elf_symbol){.entry = e->head.e_entry, .size = 8};
	return out->entry != 0 && function_read(e, out->entry, bytes,
	    sizeof(bytes)) && memcmp(bytes, code, sizeof(code)) == 0;
}

bool
elf_start(const struct elf *e, uint64_t vaddr, struct elf_symbol *out)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint64_t entry = e->head.e_entry;
	uint8_t bytes[8], *p = bytes;

	if (elf_start_of_loader(e, out))
		return vaddr - entry < out->size;
	if (entry == 0 || !elf_function(e, vaddr, out) ||
	    out->entry != entry || !function_read(e, entry, bytes, 8))
		return false;
	p += memcmp(p, landing, sizeof(landing)) == 0 ? sizeof(landing) : 0;
	return (p[0] == 0x31 && p[1] == 0xed) ||
	    (p[0] == 0x48 && p[1] == 0x31 && p[2] == 0xed);
}

/*
 * What the function of makecontext() returns to has no symbol, either:
 *
 *	mov %rbx,%rsp; mov (%rsp),%rdi; test %rdi,%rdi; ...; hlt
 */
static const uint8_t context[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24,
    0x48, 0x85, 0xff};

#define CONTEXT_ALIGN 16
#define CONTEXT_MAX (4u << 20) /* bytes that are looked through */
#define CONTEXT_STEP 16384     /* of them at once */
#define CONTEXT_SIZE 128       /* of the function, at most */

/* Up to the last instruction, of what is there of it. */
static size_t
context_size(const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, 0xf4, n < CONTEXT_SIZE ? n :
	    CONTEXT_SIZE);

	return end != NULL ? (size_t)(end - p) + 1 : sizeof(context);
}

bool
elf_find_context(const struct elf *e, uint64_t low, uint64_t high,
    struct elf_symbol *out)
{
	uint8_t bytes[CONTEXT_STEP];
	uint64_t from, end = high < e->in.size ? high : e->in.size;
	size_t i, n;

	from = (low + CONTEXT_ALIGN - 1) / CONTEXT_ALIGN * CONTEXT_ALIGN;
	if (from >= end || end - from > CONTEXT_MAX)
		return false;
	for (; from < end; from += CONTEXT_STEP) {
		n = e->in.size - from < CONTEXT_STEP ?
		    (size_t)(e->in.size - from) : CONTEXT_STEP;
		if (!elf_read(e, from, bytes, n))
			return false;
		for (i = 0; i + sizeof(context) <= n && from + i < end;
		    i += CONTEXT_ALIGN) {
			if (memcmp(bytes + i, context, sizeof(context)) != 0)
				continue;
			out->entry = from + i;
			out->size = context_size(bytes + i, n - i);
			return true;
		}
	}
	return false;
}

bool
elf_context(const struct elf *e, uint64_t vaddr, struct elf_symbol *out)
{
	uint8_t bytes[sizeof(context)];
	uint64_t at;

	if (elf_function(e, vaddr, out))
		vaddr = out->entry;
	else
		vaddr += vaddr % CONTEXT_ALIGN == CONTEXT_ALIGN - 1;
	if (!elf_offset(e, vaddr, &at) ||
	    !elf_read(e, at, bytes, sizeof(bytes)) ||
	    memcmp(bytes, context, sizeof(context)) != 0)
		return false;
	out->entry = vaddr;
	out->size = sizeof(context);
	return true;
}
