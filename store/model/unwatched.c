/*
 * The names are few: each is compared.
 */
#include "store/model/unwatched.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"
#include "store/model/series.h"

const struct err *
unwatched_new(struct unwatched **out, const char *const *names, size_t n,
    int64_t age_ns)
{
	struct unwatched *u = calloc(1, sizeof(*u));

	*out = NULL;
	if (u == NULL || (u->names = calloc(n + 1, sizeof(char *))) == NULL) {
		free(u);
		return err_nomem();
	}
	u->age_ns = age_ns;
	while (u->n < n && (u->names[u->n] = strdup(names[u->n])) != NULL)
		u->n++;
	if (u->n < n) {
		unwatched_free(u);
		return err_nomem();
	}
	*out = u;
	return NULL;
}

void
unwatched_free(struct unwatched *u)
{
	if (u == NULL)
		return;
	while (u->n > 0)
		free(u->names[--u->n]);
	free(u->names);
	free(u);
}

bool
unwatched_is(const struct unwatched *u, const struct series_desc *d)
{
	const char *service = label_find(d->labels, d->n_labels, "service");

	if (service == NULL || service[0] == '\0')
		return false;
	for (size_t i = 0; i < u->n; i++) {
		if (strcmp(u->names[i], service) == 0)
			return false;
	}
	return true;
}
