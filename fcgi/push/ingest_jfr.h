/*
 * Java's flight recordings as Pyroscope's agent pushes them: raw, or in a form
 * with the labels of their events.
 */
#ifndef FCGI_INGEST_JFR_H
#define FCGI_INGEST_JFR_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct stacks;

/* `form`: the content type of one with the fields jfr and labels, each packed
 * or not; NULL: the body is a recording.  `rate`: Hz, 0: as the recording
 * says.  Errors: ERR_REQUEST 400, 413, 422; ENOMEM. */
const struct err *ingest_jfr_body(struct stacks *s, const char *form,
    const void *body, size_t n, int64_t rate);

#endif
