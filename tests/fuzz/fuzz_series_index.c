/*
 * The index of a sealed file's series.  Two bytes (be16) tell how long its
 * head is; the lists follow.  The head's length and checksum are made here,
 * since no fuzzer finds them.  Whatever it says, all lists are walked, and
 * numbers are within bounds.
 */
#include <stdlib.h>

#include "store/base/intern.h"
#include "store/file/series_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
walk(const struct series_index *x, uint32_t service, enum index_list list)
{
	struct index_series told = {.number = INTERN_NONE};
	struct index_text names[BATCH_MAX_LABELS + 2];
	size_t size;
	uint64_t at = series_index_at(x, service, service + 1, list, &size);
	struct cur c = cur_of(x->bytes.data + at, size);

	while (series_index_next(x, &c, &told)) {
		series_index_names(x, told.head, names);
		if (told.number >= x->n || told.head >= x->n_heads)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct series_index x = {.whole = true};
	struct cur c = cur_of(data, size);
	size_t n = (size_t)cur_u8(&c) << 8;

	n |= cur_u8(&c);
	if (c.bad || n > cur_left(&c))
		return 0;
	buf_put_be32(&x.bytes, (uint32_t)n);
	buf_put(&x.bytes, c.p, n);
	buf_put_be32(&x.bytes, crc32c(0, x.bytes.data, x.bytes.len));
	buf_put(&x.bytes, c.p + n, cur_left(&c) - n);
	if (series_index_open(&x) == NULL) {
		for (uint32_t i = 0; i < x.n_services; i++) {
			size_t len;

			series_index_service(&x, i, &len);
			walk(&x, i, INDEX_PROFILES);
			walk(&x, i, INDEX_METRICS);
		}
	}
	series_index_fini(&x);
	return 0;
}
