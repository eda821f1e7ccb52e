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

/* The last entry that starts at or before vaddr. */
static bool
function_search(const struct elf *e, uint64_t vaddr, struct entry *out)
{
	uint32_t low = 0, high = function_count(e), mid;
	int64_t want = (int64_t)(vaddr - e->hdr_vaddr);
	struct entry x;
	bool found = false;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (!function_read(e, e->hdr_vaddr + HDR + mid * 8ull, &x,
		    sizeof(x)))
			return false;
		if (x.start <= want) {
			*out = x;
			found = true;
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return found;
}

bool
elf_function(const struct elf *e, uint64_t vaddr, struct elf_symbol *out)
{
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t size;
	} fde;
	struct entry x;
	uint64_t at;

	if (!function_search(e, vaddr, &x))
		return false;
	at = e->hdr_vaddr + (uint64_t)(int64_t)x.fde;
	if (!function_read(e, at, &fde, sizeof(fde)) || fde.length < 12 ||
	    fde.cie == 0)
		return false;
	out->entry = e->hdr_vaddr + (uint64_t)(int64_t)x.start;
	out->size = fde.size;
	if (at + 8 + (uint64_t)(int64_t)fde.start != out->entry)
		return false;
	return vaddr - out->entry < out->size;
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
