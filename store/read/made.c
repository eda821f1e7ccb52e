/*
 * Which series add up to a type that nobody stores.
 */
#include "store/read/made.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/types.h"
#include "store/read/reader.h"

enum { HAD_ITSELF = 1, HAD_FIRST = 2 };

const struct type *
made_type(const struct selector *selector)
{
	const char *name = selector == NULL ? NULL : selector_name(selector);
	const struct type *t;

	if (name != NULL && *name == '\0')
		name = selector_equals(selector, "__name__");
	t = name == NULL ? NULL : types_find(name);
	return t != NULL && t->parts != NULL ? t : NULL;
}

int
made_part(const struct type *type, const char *name)
{
	if (strcmp(type->name, name) == 0)
		return 0;
	for (int i = 0; type->parts[i] != NULL; i++)
		if (strcmp(type->parts[i], name) == 0)
			return i + 1;
	return -1;
}

static int
made_part_of(const struct made *m, uint32_t series)
{
	struct series_desc d;

	symtab_desc(&m->s->syms, series, &d, NULL, 0);
	return made_part(m->type, d.name);
}

/* The place of a series' service. */
static uint32_t
made_service(const struct made *m, uint32_t series)
{
	uint32_t service = reader_service(m->s, series);

	return service != INTERN_NONE ? service : m->none;
}

/* Where it keeps what it has had. */
static uint8_t *
made_had(const struct made *m, uint32_t series)
{
	return &m->had[made_service(m, series)];
}

static int
made_compare(const void *a, const void *b, void *made)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = made_part_of(made, x) - made_part_of(made, y);
	struct made *m = made;

	return order != 0 ? order : symtab_compare_series(&m->s->syms, x, y);
}

const struct err *
made_begin(struct made *m, struct store *s, const struct selector *selector,
    uint32_t *series, size_t n)
{
	*m = (struct made){.type = made_type(selector), .s = s};
	if (m->type == NULL)
		return NULL;
	m->none = s->syms.strings.n;
	if ((m->had = calloc((size_t)m->none + 1, 1)) == NULL)
		return err_nomem();
	if (n > 1)
		qsort_r(series, n, sizeof(*series), made_compare, m);
	return NULL;
}

bool
made_takes(const struct made *m, uint32_t series)
{
	int part = m->type == NULL ? 0 : made_part_of(m, series);

	if (part == 0)
		return true;
	return *made_had(m, series) == (part == 1 ? 0 : HAD_FIRST);
}

void
made_saw(struct made *m, uint32_t series)
{
	int part = m->type == NULL ? -1 : made_part_of(m, series);

	if (part == 0 || part == 1)
		*made_had(m, series) |= part == 0 ? HAD_ITSELF : HAD_FIRST;
}

const struct err *
made_saw_steps(struct made *m, uint32_t series, const uint64_t *observed,
    size_t n)
{
	size_t services = (size_t)m->none + 1;
	uint8_t **bits;

	made_saw(m, series);
	if (m->type == NULL || made_part_of(m, series) != 1)
		return NULL;
	if (m->steps == NULL)
		m->steps = calloc(services, sizeof(*m->steps));
	if (m->steps == NULL)
		return err_nomem();
	bits = &m->steps[made_service(m, series)];
	if (*bits == NULL && (*bits = calloc(n / 8 + 1, 1)) == NULL)
		return err_nomem();
	for (size_t i = 0; i < n; i++)
		if (observed[i] > 0)
			(*bits)[i / 8] |= (uint8_t)(1u << i % 8);
	return NULL;
}

bool
made_covers(const struct made *m, uint32_t series, size_t step)
{
	const uint8_t *bits;

	if (m->type == NULL || made_part_of(m, series) <= 1)
		return true;
	bits = m->steps == NULL ? NULL : m->steps[made_service(m, series)];
	return bits != NULL && (bits[step / 8] >> step % 8 & 1) != 0;
}

void
made_fini(struct made *m)
{
	for (size_t i = 0; m->steps != NULL && i <= m->none; i++)
		free(m->steps[i]);
	free(m->steps);
	free(m->had);
}
