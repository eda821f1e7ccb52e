/*
 * Records one after the other, each in no more memory than it needs.
 */
#include "collector/ipc/intake_parts.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/array.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "store/store.h"

const struct err *
intake_parts_add(struct intake_parts *p, struct buf *record,
    const struct batch *b)
{
	uint64_t until = store_batch_until(b);
	uint8_t *less;

	if (!array_room(&p->records, p->n + 1, &p->cap))
		return err_nomem();
	less = realloc(record->data, record->len);
	if (less != NULL) {
		record->data = less;
		record->cap = record->len;
	}
	if (p->n == 0)
		memcpy(p->id, b->id, sizeof(p->id));
	if (until > p->until)
		p->until = until;
	p->bytes += record->cap;
	p->records[p->n++] = *record;
	*record = (struct buf){0};
	return NULL;
}

const struct err *
intake_parts_get(const struct intake_parts *p, size_t i, struct batch **b)
{
	return batch_decode(p->records[i].data, p->records[i].len, b);
}

void
intake_parts_fini(struct intake_parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_fini(&p->records[i]);
	free(p->records);
	*p = (struct intake_parts){0};
}
