/*
 * Table-driven binding of INI files.  libinih does not tell line numbers to
 * its handler as Debian builds it, so the reader that feeds it counts them.
 */
#include "store/base/conf.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/base/err.h"

#define CONF_LINE_MAX 1024 /* above that of libinih, often 200 */

struct conf_reader {
	const struct conf_spec *spec;
	void *values;
	const char *path;
	FILE *file;
	int line;
	char section[CONF_LINE_MAX]; /* libinih cuts what it remembers */
	const struct err *error;
};

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit durations[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", INT64_C(60000000000)},
    {"min", INT64_C(60000000000)},
    {"h", INT64_C(3600000000000)},
    {"d", INT64_C(86400000000000)},
    {"w", INT64_C(604800000000000)},
    {"y", INT64_C(31536000000000000)},
    {NULL, 0},
};

static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"K", 1 << 10},
    {"KiB", 1 << 10},
    {"M", 1 << 20},
    {"MiB", 1 << 20},
    {"G", 1 << 30},
    {"GiB", 1 << 30},
    {"T", INT64_C(1) << 40},
    {"TiB", INT64_C(1) << 40},
    {NULL, 0},
};

static const struct unit rates[] = {{"", 1}, {"Hz", 1}, {NULL, 0}};
static const struct unit plain[] = {{"", 1}, {NULL, 0}};

static const struct err *
conf_parse_number(const char *text, const struct unit *units, int64_t *value)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || errno != 0)
		return err_new(ERR_CONFIG, 0, "\"%s\" is not a number", text);
	while (*end == ' ')
		end++;
	if (n == 0 && *end == '\0') { /* the same in every unit */
		*value = 0;
		return NULL;
	}
	for (; units->name != NULL; units++) {
		if (strcmp(units->name, end) == 0) {
			if (__builtin_mul_overflow(n, units->factor, value))
				return err_new(ERR_CONFIG, 0,
				    "\"%s\" is too large", text);
			return NULL;
		}
	}
	return err_new(ERR_CONFIG, 0, "\"%s\" has an unknown unit", text);
}

static const struct err *
conf_parse_percent(const char *text, int64_t *value)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || !(n >= 0 && n <= 1e6))
		return err_new(ERR_CONFIG, 0, "\"%s\" is not a percentage",
		    text);
	while (*end == ' ')
		end++;
	if (strcmp(end, "%") != 0)
		return err_new(ERR_CONFIG, 0, "\"%s\" does not end in %%",
		    text);
	*value = (int64_t)(n * 10000 + 0.5);
	return NULL;
}

static const struct err *
conf_parse_bool(const char *text, int64_t *value)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};

	for (size_t i = 0; i < 4; i++) {
		if (strcasecmp(text, yes[i]) == 0)
			return *value = 1, NULL;
		if (strcasecmp(text, no[i]) == 0)
			return *value = 0, NULL;
	}
	return err_new(ERR_CONFIG, 0, "\"%s\" is neither yes nor no", text);
}

const struct err *
conf_parse(enum conf_type type, const char *text, int64_t *value)
{
	switch (type) {
	case CONF_BOOL:
		return conf_parse_bool(text, value);
	case CONF_DURATION:
		return conf_parse_number(text, durations, value);
	case CONF_SIZE:
		return conf_parse_number(text, sizes, value);
	case CONF_RATE:
		return conf_parse_number(text, rates, value);
	case CONF_PERCENT:
		return conf_parse_percent(text, value);
	default:
		return conf_parse_number(text, plain, value);
	}
}

static const struct err *
conf_set_string(char **slot, const char *text)
{
	char *copy = NULL;

	if (text != NULL && (copy = strdup(text)) == NULL)
		return err_nomem();
	free(*slot);
	*slot = copy;
	return NULL;
}

static const struct err *
conf_set(const struct conf_key *key, void *values, const char *text)
{
	void *slot = (char *)values + key->offset;
	const struct err *e;
	int64_t n;

	if (key->type == CONF_STRING)
		return conf_set_string(slot, text);
	if ((e = conf_parse(key->type, text, &n)) != NULL)
		return err_wrap(e, "%s", key->key);
	if (n < key->min || (key->max != 0 && n > key->max))
		return err_new(ERR_CONFIG, 0,
		    "%s: \"%s\" is out of range (%lld to %lld)", key->key, text,
		    (long long)key->min, (long long)key->max);
	if (key->type == CONF_BOOL)
		*(bool *)slot = n != 0;
	else
		*(int64_t *)slot = n;
	return NULL;
}

const struct err *
conf_defaults(const struct conf_spec *spec, void *values)
{
	const struct err *e;

	for (size_t i = 0; i < spec->n_keys; i++) {
		const struct conf_key *k = &spec->keys[i];

		if (k->fallback == NULL && k->type != CONF_STRING)
			continue;
		if ((e = conf_set(k, values, k->fallback)) != NULL)
			return e;
	}
	return NULL;
}

static const struct err *
conf_assign(struct conf_reader *r, const char *section, const char *key,
    const char *value)
{
	const struct conf_spec *spec = r->spec;
	size_t n = spec->named_prefix ? strlen(spec->named_prefix) : 0;
	bool known = false;

	if (n > 0 && strncmp(section, spec->named_prefix, n) == 0 &&
	    section[n] == ' ')
		return spec->named(r->values, section + n + 1, key, value,
		    r->line);
	for (size_t i = 0; i < spec->n_keys; i++) {
		if (strcmp(spec->keys[i].section, section) != 0)
			continue;
		known = true;
		if (strcmp(spec->keys[i].key, key) == 0)
			return conf_set(&spec->keys[i], r->values, value);
	}
	if (!known)
		return err_new(ERR_CONFIG, 0, "unknown section [%s]", section);
	return err_new(ERR_CONFIG, 0, "unknown key \"%s\" in [%s]", key,
	    section);
}

static int
conf_handle(void *user, const char *section, const char *key,
    const char *value)
{
	struct conf_reader *r = user;
	const struct err *e;

	if (r->error != NULL)
		return 0;
	(void)section;
	e = conf_assign(r, r->section, key, value);
	if (e != NULL)
		r->error = err_wrap(e, "%s:%d", r->path, r->line);
	return e == NULL;
}

static bool
conf_knows_section(const struct conf_spec *spec, const char *section)
{
	size_t i, n = spec->named_prefix ? strlen(spec->named_prefix) : 0;

	if (n > 0 && strncmp(section, spec->named_prefix, n) == 0 &&
	    section[n] == ' ')
		return true;
	for (i = 0; i < spec->n_keys; i++)
		if (strcmp(spec->keys[i].section, section) == 0)
			return true;
	return false;
}

/* Looks at a line before libinih does, which knows of no sections without
 * keys and takes what is indented for the rest of the line before. */
static const struct err *
conf_check_line(struct conf_reader *r, char *line, size_t size)
{
	static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
	size_t n = strlen(line), skip = 0;
	bool cut = n + 1 == size && line[n - 1] != '\n';
	const char *end;
	int c = 0;

	if (r->line == 1 && strncmp(line, mark, 3) == 0)
		skip = 3;
	skip += strspn(line + skip, " \t");
	memmove(line, line + skip, n + 1 - skip);
	while (cut && (line[0] == '#' || line[0] == ';') && c != '\n' &&
	    c != EOF)
		c = getc(r->file);
	if (cut && c == 0)
		return err_new(ERR_CONFIG, 0, "longer than %zu bytes",
		    size - 2);
	if (line[0] != '[')
		return NULL;
	end = strchr(line, ']');
	if (end == NULL)
		return err_new(ERR_CONFIG, 0, "[ without ]");
	snprintf(r->section, sizeof(r->section), "%.*s",
	    (int)(end - line - 1), line + 1);
	if (!conf_knows_section(r->spec, r->section))
		return err_new(ERR_CONFIG, 0, "unknown section [%s]",
		    r->section);
	return NULL;
}

static char *
conf_read_line(char *line, int size, void *stream)
{
	struct conf_reader *r = stream;
	char *s = r->error ? NULL : fgets(line, size, r->file);
	const struct err *e;

	if (s == NULL)
		return NULL;
	r->line++;
	e = conf_check_line(r, line, (size_t)size);
	if (e == NULL)
		return s;
	r->error = err_wrap(e, "%s:%d", r->path, r->line);
	return NULL;
}

const struct err *
conf_load(const struct conf_spec *spec, const char *path, void *values)
{
	struct conf_reader r = {.spec = spec, .values = values,
	    .path = path};
	int bad;

	r.file = fopen(path, "re");
	if (r.file == NULL)
		return err_errno("%s", path);
	bad = ini_parse_stream(conf_read_line, &r, conf_handle, &r);
	if (r.error == NULL && ferror(r.file))
		r.error = err_errno("%s", path);
	fclose(r.file);
	if (r.error != NULL)
		return r.error;
	if (bad > 0)
		return err_new(ERR_CONFIG, bad,
		    "%s:%d: neither [section] nor key = value", path, bad);
	if (bad < 0)
		return err_nomem();
	if (spec->check != NULL &&
	    (r.error = spec->check(values, &r.line)) != NULL)
		return err_wrap(r.error, "%s:%d", path, r.line);
	return NULL;
}

static bool
conf_same_string(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
conf_same(const struct conf_spec *spec, const char *section, const void *a,
    const void *b)
{
	for (size_t i = 0; i < spec->n_keys; i++) {
		const struct conf_key *k = &spec->keys[i];
		const char *x = (const char *)a + k->offset;
		const char *y = (const char *)b + k->offset;

		if (strcmp(k->section, section) != 0)
			continue;
		if (k->type == CONF_STRING ?
		    !conf_same_string(*(char *const *)(const void *)x,
		    *(char *const *)(const void *)y) :
		    memcmp(x, y, k->type == CONF_BOOL ? sizeof(bool) :
		    sizeof(int64_t)) != 0)
			return false;
	}
	return true;
}

void
conf_free_values(const struct conf_spec *spec, void *values)
{
	for (size_t i = 0; i < spec->n_keys; i++) {
		char **slot = (char **)((char *)values + spec->keys[i].offset);

		if (spec->keys[i].type != CONF_STRING)
			continue;
		free(*slot);
		*slot = NULL;
	}
}
