/*
 * What an endpoint says, twice: parsed or refused, the second one as the
 * difference to the first; what is sent is whole batches.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collector/pull/pull.h"
#include "store/base/err.h"
#include "store/batch/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check_made(const struct pull_made *made)
{
	struct cur c = cur_of(made->records.data, made->records.len);

	for (uint32_t i = 0; i < made->n; i++) {
		size_t size = cur_be32(&c);
		const uint8_t *record = cur_raw(&c, size);
		struct batch *b;

		if (record == NULL || batch_decode(record, size, &b) != NULL)
			abort();
		batch_free(b);
	}
	if (cur_left(&c) > 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct pull_ask ask = {.slot_ns = INT64_C(10000000000),
	    .service = "db", .instance = "one", .group = "block"};
	struct pull *p = pull_new();
	struct pull_made made;
	size_t half = n > 0 ? data[0] * n / 256 : 0;

	if (p == NULL)
		return 0;
	for (int i = 0; i < 3; i++) {
		ask.at_ns = (100 + i * 7) * INT64_C(1000000000);
		if (pull_take(p, &ask, i == 1 ? data + half : data,
		    i == 1 ? n - half : n, &made) == NULL)
			check_made(&made);
		buf_fini(&made.records);
	}
	pull_free(p);
	return 0;
}
