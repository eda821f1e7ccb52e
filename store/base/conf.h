/*
 * Configuration files: INI as libinih reads it, bound to a table of keys.
 *
 * A program lists its keys once (name, type, default, range, help); the
 * loader fills a struct by offsets and reports the first mistake as
 * "file:line: message".  Sections that may occur several times with a name,
 * "[service NAME]", are handed to a callback.
 */
#ifndef STORE_BASE_CONF_H
#define STORE_BASE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What a value looks like, and the C type behind `offset`. */
enum conf_type {
	CONF_STRING,   /* char *: allocated, freed by conf_free_values() */
	CONF_INT,      /* int64_t */
	CONF_BOOL,     /* bool: yes, no, true, false, on, off, 1, 0 */
	CONF_DURATION, /* int64_t ns: 20ms, 10s, 5m, 2h, 7d, 1y */
	CONF_SIZE,     /* int64_t bytes: 4096, 64K, 2M, 1GiB */
	CONF_RATE,     /* int64_t Hz: 99 or 99Hz */
	CONF_PERCENT   /* int64_t millionths: 1%, 0.25% */
};

struct conf_key {
	const char *section, *key;
	enum conf_type type;
	size_t offset;
	const char *fallback; /* the default, as text; NULL = unset string */
	int64_t min, max;     /* for numbers; max 0 = no limit */
	const char *help;     /* one line */
};

/*
 * Called for each key of a section whose name begins with `prefix` and a
 * space: "[service kv]" gives name "kv".  `line` is the key's, for what only
 * conf_check_fn can tell.  Returns NULL or an error.
 */
typedef const struct err *conf_named_fn(void *values, const char *name,
    const char *key, const char *value, int line);

/* Called after the last line: fills in what follows from other keys, and
 * checks what one key alone cannot tell.  An error is reported at *line. */
typedef const struct err *conf_check_fn(void *values, int *line);

struct conf_spec {
	const struct conf_key *keys;
	size_t n_keys;
	const char *named_prefix; /* NULL = no named sections */
	conf_named_fn *named;
	conf_check_fn *check; /* or NULL */
};

/* Fills *values with the defaults of the table. */
const struct err *conf_defaults(const struct conf_spec *spec, void *values);

/*
 * Reads `path` over what *values holds.  Errors: ERR_ERRNO when it cannot be
 * read, ERR_CONFIG "path:line: ..." for an unknown section or key, a value
 * of the wrong form or out of range, or a line that is not INI.
 */
const struct err *conf_load(const struct conf_spec *spec, const char *path,
    void *values);

/* Have all keys of a section the same values in both? */
bool conf_same(const struct conf_spec *spec, const char *section,
    const void *a, const void *b);

/* Frees the strings of *values that conf_defaults/conf_load set. */
void conf_free_values(const struct conf_spec *spec, void *values);

/* One value by itself, for named sections and command lines. */
const struct err *conf_parse(enum conf_type type, const char *text,
    int64_t *value);

#endif
