/*
 * pprof as agents push it: raw, or in a form with a configuration of its
 * types and, from old agents, the profile before.
 */
#ifndef FCGI_INGEST_PPROF_H
#define FCGI_INGEST_PPROF_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct stacks;

/* `files`: a frame's name has its file before it (rbspy, pyspy). */
const struct err *ingest_pprof_raw(struct stacks *s, const void *data,
    size_t n, bool files);

/*
 * The fields profile, prev_profile and sample_type_config of a form.  Types
 * that are cumulative are the difference to the profile before; *s is
 * another object then.  Without one they say nothing of the window: left
 * out, and counted.  Errors: ERR_REQUEST 400, 413, 422.
 */
const struct err *ingest_pprof_form(struct stacks **s,
    const char *content_type, const void *body, size_t n, bool files);

#endif
