/*
 * Where functions were written, by name: what the profiler told the store
 * (FACT_PLACE) of those whose debug information it has read, and what pushed
 * profiles said of the functions of their own service.
 */
#ifndef FCGI_PLACES_H
#define FCGI_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct places;
struct store;
struct writer;

/* They are told once a day: those of a range may stand before it. */
#define PLACES_BEFORE_NS (25 * INT64_C(3600000000000))
#define PLACES_SHOWN_MAX 8 /* of one name */

/* Those told in [from_ns - PLACES_BEFORE_NS, until_ns); without those of
 * other services where the answer is of one, which is borrowed, and not NULL.
 * Errors: the store's, ENOMEM. */
const struct err *places_read(struct places **out, struct store *s,
    const char *service, int64_t from_ns, int64_t until_ns);
void places_free(struct places *p); /* NULL is fine */

/* The one place of a function of a module: n bytes of a file's name, which
 * live as long as `p`, and a line.  False where none or several are known, or
 * where it is one service's and the answer is of several. */
bool places_find(const struct places *p, const char *name, const char *module,
    const char **file, size_t *n, int64_t *line);

/* The places of a function as an array of {file, line, module, build_id,
 * service}, by place, at most PLACES_SHOWN_MAX: one name may be several
 * functions. */
void places_put(struct writer *w, const struct places *p, const char *name);

#endif
