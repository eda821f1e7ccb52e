/*
 * The methods of Connect's querier.v1.QuerierService, one function each:
 * from a message to a message, both in the arena.
 */
#ifndef FCGI_QUERIER_H
#define FCGI_QUERIER_H

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "fcgi/format/arena.h"

struct err;
struct flameql;
struct store;

struct querier {
	struct store *store;
	struct arena *arena;
	int64_t now_ns;
};

typedef const struct err *querier_fn(struct querier *q,
    const ProtobufCMessage *request, ProtobufCMessage **answer);

querier_fn querier_profile_types, querier_label_names, querier_label_values,
    querier_series, querier_select_series, querier_merge_stacktraces,
    querier_merge_profile, querier_diff;

/* A message of zeros; NULL when there is no room. */
void *querier_new(struct querier *q, const ProtobufCMessageDescriptor *d);
/* n elements, zeroed. */
void *querier_array(struct querier *q, size_t n, size_t size);
char *querier_text(struct querier *q, const char *text);

/* A restriction that cannot be kept to is an error with its name: without it
 * the answer would be another one. */
const struct err *querier_refuse(const char *field, const char *why);

/* Milliseconds to nanoseconds; an end of 0 is now.  Errors: ERR_REQUEST 400
 * with field "end" for one before the start. */
const struct err *querier_range(const struct querier *q, int64_t start,
    int64_t end, int64_t *from_ns, int64_t *until_ns);

/* "[name=value]" with Grafana's names. */
const char *querier_label_name(const char *ours);

#endif
