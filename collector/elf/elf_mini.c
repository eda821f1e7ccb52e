/*
 * Section .gnu_debugdata: what distributions leave of the symbol table in a
 * stripped file, an ELF file of its own, packed by xz.
 */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "collector/elf/elf_private.h"
#include "store/base/buf.h"

#define PACKED_MAX (16u << 20)
#define PLAIN_MAX (64u << 20)
#define DECODER_MAX (80u << 20) /* memory of xz: its largest preset takes 65 */
#define STEP (256u << 10)

static bool
mini_read(void *arg, uint64_t at, void *p, size_t n)
{
	const struct buf *plain = arg;

	memcpy(p, plain->data + at, n);
	return true;
}

/* Runs the decoder until its end; it writes behind what `out` holds. */
static enum elf_status
mini_decode(lzma_stream *xz, struct buf *out)
{
	lzma_ret status = LZMA_OK;

	while (status == LZMA_OK) {
		if (out->len > PLAIN_MAX)
			return ELF_TOO_BIG;
		if (!buf_reserve(out, STEP))
			return ELF_NO_MEMORY;
		xz->next_out = out->data + out->len;
		xz->avail_out = STEP;
		status = lzma_code(xz, LZMA_FINISH);
		out->len += STEP - xz->avail_out;
	}
	return status == LZMA_STREAM_END ? ELF_OK :
	    status == LZMA_MEM_ERROR ? ELF_NO_MEMORY :
	    status == LZMA_MEMLIMIT_ERROR ? ELF_TOO_BIG : ELF_DAMAGED;
}

static enum elf_status
mini_unpack(const uint8_t *packed, size_t n, struct buf *out)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	enum elf_status status;

	if (lzma_stream_decoder(&xz, DECODER_MAX, 0) != LZMA_OK)
		return ELF_NO_MEMORY;
	xz.next_in = packed;
	xz.avail_in = n;
	status = mini_decode(&xz, out);
	lzma_end(&xz);
	return status;
}

static enum elf_status
mini_load(const struct elf *outer, const Elf64_Shdr *s, struct buf *plain)
{
	enum elf_status status;
	uint8_t *packed;

	if (s->sh_size > PACKED_MAX)
		return ELF_TOO_BIG;
	packed = malloc(s->sh_size);
	if (packed == NULL)
		return ELF_NO_MEMORY;
	status = elf_read(outer, s->sh_offset, packed, s->sh_size) ?
	    mini_unpack(packed, s->sh_size, plain) : ELF_DAMAGED;
	free(packed);
	return status;
}

enum elf_status
elf_open_mini(struct elf **out, const struct elf *outer)
{
	struct buf *plain;
	enum elf_status status;
	Elf64_Shdr s;

	*out = NULL;
	if (!elf_section_named(outer, ".gnu_debugdata", &s))
		return ELF_OK;
	plain = calloc(1, sizeof(*plain));
	if (plain == NULL)
		return ELF_NO_MEMORY;
	status = mini_load(outer, &s, plain);
	if (status == ELF_OK)
		status = elf_open(out, &(struct elf_input){.read = mini_read,
		    .arg = plain, .size = plain->len});
	if (*out != NULL) {
		(*out)->plain = plain;
	} else {
		buf_fini(plain);
		free(plain);
	}
	return status;
}
