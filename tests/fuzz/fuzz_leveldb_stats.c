/*
 * /transaction_data: any bytes; no value is negative.
 */
#include <stdlib.h>

#include "fcgi/format/in/leveldb_stats.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
check(const struct leveldb_stats *s)
{
	if (s->n_levels > LEVELDB_LEVELS)
		abort();
	for (int i = 0; i < LEVELDB_FIELDS; i++) {
		if (s->field[i] < 0)
			abort();
	}
	for (size_t i = 0; i < s->n_levels; i++) {
		const struct leveldb_level *l = &s->levels[i];

		if (l->level < 0 || l->files < 0 || l->size_bytes < 0 ||
		    l->read_bytes < 0 || l->write_bytes < 0)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct leveldb_stats s;

	(void)leveldb_stats_parse((const char *)data, n, &s);
	check(&s);
	s = (struct leveldb_stats){0};
	(void)leveldb_stats_table((const char *)data, n, &s);
	check(&s);
	return 0;
}
