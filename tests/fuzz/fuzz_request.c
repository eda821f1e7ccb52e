/*
 * Request URIs and query strings.  Input: path, newline, query.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/server/request.h"
#include "store/base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"query", "from", "until", "step", "n"};
static const char *const choices[] = {"mean", "rate", NULL};

static void
use(const struct request *rq)
{
	int64_t a, b;
	double d;
	size_t choice;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		request_text(rq, names[i]);
		request_int(rq, names[i], -5, INT64_MAX, 1, &a);
		request_real(rq, names[i], 0, 1e9, 1, &d);
		request_choice(rq, names[i], choices, 0, &choice);
	}
	if (request_range(rq, &a, &b) == NULL && (a < 0 || a >= b))
		abort();
	for (size_t i = 0; i < rq->n_params; i++)
		for (size_t k = i + 1; k < rq->n_params; k++)
			if (strcmp(rq->params[i].name, rq->params[k].name) == 0)
				abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *uri = malloc(size + 1), *query;
	struct request rq;

	if (uri == NULL)
		return 0;
	memcpy(uri, data, size);
	uri[size] = '\0';
	query = strchr(uri, '\n');
	if (query != NULL)
		*query++ = '\0';
	if (request_init(&rq, "GET", uri, "/sub", query,
	    INT64_C(1700000000) * NS_PER_S) == NULL) {
		if (rq.path[0] != '/')
			abort();
		use(&rq);
	}
	request_fini(&rq);
	free(uri);
	return 0;
}
