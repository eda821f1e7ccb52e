/*
 * What is counted waits until the daemon has said whether it took the push.
 */
#include "fcgi/server/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tally_line *
tally_line(struct tally *t, const char *name, const char *value)
{
	struct tally_line *l;

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->lines[i].name, name) == 0 &&
		    strncmp(t->lines[i].value, value,
		    sizeof(l->value) - 1) == 0)
			return &t->lines[i];
	if ((l = realloc(t->lines, (t->n + 1) * sizeof(*l))) == NULL)
		return NULL;
	t->lines = l;
	l = &t->lines[t->n++];
	*l = (struct tally_line){.raw = 0};
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->value, sizeof(l->value), "%s", value);
	return l;
}

int64_t
tally_add(struct tally *t, const char *name, const char *value, int64_t n)
{
	struct tally_line *l = tally_line(t, name, value);

	if (l == NULL)
		return n;
	l->pending += n;
	return l->raw += n;
}

void
tally_settle(struct tally *t, bool taken)
{
	for (size_t i = 0; i < t->n; i++) {
		if (!taken)
			t->lines[i].raw -= t->lines[i].pending;
		t->lines[i].pending = 0;
	}
}

void
tally_fini(struct tally *t)
{
	free(t->lines);
	*t = (struct tally){0};
}
