/*
 * What a database with LevelDB inside says of itself: ResilientDB's
 * /transaction_data, and LevelDB's own "leveldb.stats" text in it.  Pure
 * parsers.
 *
 * The text names whole megabytes and whole seconds; an empty table (a
 * heading, no rows) is a database that has nothing to say yet, not an error.
 */
#ifndef FORMAT_LEVELDB_STATS_H
#define FORMAT_LEVELDB_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEVELDB_LEVELS 16

struct err;

struct leveldb_level {
	int level;
	int64_t files, size_bytes, compaction_seconds, read_bytes,
	    write_bytes;
};

/* A value is there when its bit is set. */
enum leveldb_field {
	LEVELDB_HIT_RATIO,    /* millionths */
	LEVELDB_MEMORY,       /* bytes: caches and memtables */
	LEVELDB_RESIDENT,     /* bytes */
	LEVELDB_MAX_RESIDENT, /* bytes */
	LEVELDB_READS,        /* block operations since start */
	LEVELDB_WRITES,
	LEVELDB_FIELDS
};

struct leveldb_stats {
	int64_t field[LEVELDB_FIELDS];
	uint32_t have; /* 1 << enum leveldb_field */
	struct leveldb_level levels[LEVELDB_LEVELS];
	size_t n_levels;
};

/* Reads the table; ERR_FORMAT for rows that are not numbers. */
const struct err *leveldb_stats_table(const char *text, size_t n,
    struct leveldb_stats *out);

/*
 * Reads /transaction_data.  Absent, empty, NaN, infinite, negative or
 * mistyped fields are absent; ERR_FORMAT when it is not a JSON object.
 */
const struct err *leveldb_stats_parse(const char *json, size_t n,
    struct leveldb_stats *out);

#endif
