/*
 * A row is six numbers; headings and empty lines are passed over, and anything
 * else is an error, so that a format that has changed shows.
 */
#include "fcgi/format/in/leveldb_stats.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/base/err.h"

#define MB (INT64_C(1) << 20)
#define LARGEST 9.0e15 /* whole numbers of a double */

/* ---- the table ---- */

/* Six columns; false when the line is no row. */
static bool
leveldb_row(const char *line, double column[6])
{
	for (int i = 0; i < 6; i++) {
		char *end;

		column[i] = strtod(line, &end);
		if (end == line || !isfinite(column[i]) || column[i] < 0 ||
		    column[i] > 1e9)
			return false;
		line = end;
	}
	return line[strspn(line, " \t\r")] == '\0';
}

static bool
leveldb_heading(const char *line)
{
	line += strspn(line, " \t\r");
	return *line == '\0' || strncmp(line, "---", 3) == 0 ||
	    strncmp(line, "Level", 5) == 0 ||
	    strncmp(line, "Compactions", 11) == 0;
}

static const struct err *
leveldb_line(const char *line, struct leveldb_stats *out)
{
	struct leveldb_level *l = &out->levels[out->n_levels];
	double c[6];

	if (leveldb_heading(line))
		return NULL;
	if (!leveldb_row(line, c))
		return err_new(ERR_FORMAT, 0, "not a row of leveldb.stats: "
		    "\"%.60s\"", line);
	if (out->n_levels == LEVELDB_LEVELS)
		return err_new(ERR_FORMAT, 0, "leveldb.stats has more than "
		    "%d rows", LEVELDB_LEVELS);
	*l = (struct leveldb_level){(int)c[0], (int64_t)c[1],
	    (int64_t)(c[2] * MB), (int64_t)c[3], (int64_t)(c[4] * MB),
	    (int64_t)(c[5] * MB)};
	out->n_levels++;
	return NULL;
}

const struct err *
leveldb_stats_table(const char *text, size_t n, struct leveldb_stats *out)
{
	const char *end = text + n, *next;
	const struct err *e = NULL;
	char line[160];

	out->n_levels = 0;
	for (; text < end && e == NULL; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (next == NULL)
			next = end;
		if ((size_t)(next - text) >= sizeof(line))
			return err_new(ERR_FORMAT, 0,
			    "a row of leveldb.stats is too long");
		memcpy(line, text, (size_t)(next - text));
		line[next - text] = '\0';
		e = leveldb_line(line, out);
	}
	if (e != NULL)
		out->n_levels = 0;
	return e;
}

/* ---- the document ---- */

static const struct {
	const char *key;
	enum leveldb_field field;
	int64_t factor;
} leveldb_fields[] = {
    {"ext_cache_hit_ratio", LEVELDB_HIT_RATIO, 1000000},
    {"level_db_approx_mem_size", LEVELDB_MEMORY, 1},
    {"resident_set_size", LEVELDB_RESIDENT, MB},
    {"max_resident_set_size", LEVELDB_MAX_RESIDENT, 1024},
    {"num_reads", LEVELDB_READS, 1},
    {"num_writes", LEVELDB_WRITES, 1},
};

/* A number, or a string that is one. */
static bool
leveldb_number(struct json_object *o, double *value)
{
	const char *text;
	char *end;

	if (json_object_is_type(o, json_type_int) ||
	    json_object_is_type(o, json_type_double)) {
		*value = json_object_get_double(o);
		return true;
	}
	if (!json_object_is_type(o, json_type_string))
		return false;
	text = json_object_get_string(o);
	*value = strtod(text, &end);
	return end != text && *end == '\0';
}

static void
leveldb_take(struct json_object *root, size_t i, struct leveldb_stats *out)
{
	struct json_object *o;
	double value;

	if (!json_object_object_get_ex(root, leveldb_fields[i].key, &o) ||
	    !leveldb_number(o, &value))
		return;
	value *= (double)leveldb_fields[i].factor;
	if (!isfinite(value) || value < 0 || value > LARGEST)
		return;
	out->field[leveldb_fields[i].field] = (int64_t)llround(value);
	out->have |= 1u << leveldb_fields[i].field;
}

const struct err *
leveldb_stats_parse(const char *json, size_t n, struct leveldb_stats *out)
{
	struct json_tokener *t = json_tokener_new();
	const struct err *e = NULL;
	struct json_object *root = NULL, *table;

	memset(out, 0, sizeof(*out));
	if (t == NULL)
		return err_nomem();
	if (n <= INT32_MAX)
		root = json_tokener_parse_ex(t, json, (int)n);
	if (!json_object_is_type(root, json_type_object)) {
		e = err_new(ERR_FORMAT, (int)json_tokener_get_parse_end(t),
		    "not a JSON object");
	} else {
		for (size_t i = 0; i < LEVELDB_FIELDS; i++)
			leveldb_take(root, i, out);
		if (json_object_object_get_ex(root, "level_db_stats",
		        &table) &&
		    json_object_is_type(table, json_type_string))
			e = leveldb_stats_table(json_object_get_string(table),
			    (size_t)json_object_get_string_len(table), out);
	}
	json_object_put(root);
	json_tokener_free(t);
	return e;
}
