/*
 * The exposition format: any bytes, and what is handed on holds to its
 * promises.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/in/prometheus.h"
#include "store/base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
take(void *arg, const struct prom_sample *s)
{
	struct series_desc d;
	int64_t value;

	(void)arg;
	if (s->n_labels > PROM_LABELS_MAX || s->name[0] == '\0' ||
	    strlen(s->name) > PROM_NAME_MAX)
		abort();
	for (size_t i = 1; i < s->n_labels; i++) {
		if (strcmp(s->labels[i - 1].name, s->labels[i].name) >= 0)
			abort();
	}
	prom_describe(s, &d);
	if (d.kind != SERIES_COUNTER && d.kind != SERIES_GAUGE)
		abort();
	if (s->kind == PROM_NUMBER)
		(void)prom_scale(s->value, d.scale, &value);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct prom_counts counts;

	(void)prom_parse((const char *)data, n, take, NULL, &counts);
	return 0;
}
