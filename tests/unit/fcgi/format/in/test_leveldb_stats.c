/*
 * /transaction_data as real services answer it, with its quirks.
 */
#include <stdlib.h>

#include "fcgi/format/in/leveldb_stats.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

#define HEADING                                                                \
	"                               Compactions\\n"                        \
	"Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\\n"                \
	"--------------------------------------------------\\n"

static struct leveldb_stats stats;

static const struct err *
parse(const char *json)
{
	return leveldb_stats_parse(json, strlen(json), &stats);
}

static bool
has(enum leveldb_field field)
{
	return (stats.have >> field & 1) != 0;
}

TEST(all_fields)
{
	CHECK_OK(parse("{\"ext_cache_hit_ratio\":0.42,"
	    "\"level_db_approx_mem_size\":\"8432\",\"level_db_stats\":\""
	    HEADING "  0        3        0         0        0         1\\n"
	    "  1       12      154        21     1034      1101\\n\","
	    "\"max_resident_set_size\":63472,\"num_reads\":72,"
	    "\"num_writes\":36432,\"resident_set_size\":61}"));
	CHECK_INT(stats.have, (1 << LEVELDB_FIELDS) - 1);
	CHECK_INT(stats.field[LEVELDB_HIT_RATIO], 420000);
	CHECK_INT(stats.field[LEVELDB_MEMORY], 8432);
	CHECK_INT(stats.field[LEVELDB_RESIDENT], 61 * 1048576);
	CHECK_INT(stats.field[LEVELDB_MAX_RESIDENT], 63472 * 1024);
	CHECK_INT(stats.field[LEVELDB_READS], 72);
	CHECK_INT(stats.field[LEVELDB_WRITES], 36432);
	CHECK_INT(stats.n_levels, 2);
	CHECK_INT(stats.levels[1].level, 1);
	CHECK_INT(stats.levels[1].files, 12);
	CHECK_INT(stats.levels[1].size_bytes, 154 * 1048576);
	CHECK_INT(stats.levels[1].compaction_seconds, 21);
	CHECK_INT(stats.levels[1].read_bytes, INT64_C(1034) << 20);
	CHECK_INT(stats.levels[1].write_bytes, INT64_C(1101) << 20);
}

TEST(empty_table)
{
	CHECK_OK(parse("{\"level_db_stats\":\"" HEADING "\"}"));
	CHECK_INT(stats.n_levels, 0);
	CHECK_INT(stats.have, 0);
	CHECK_OK(parse("{\"level_db_stats\":\"\"}"));
	CHECK_OK(parse("{}"));
	CHECK_INT(stats.have, 0);
}

TEST(absent_and_odd_fields)
{
	CHECK_OK(parse("{\"ext_cache_hit_ratio\":NaN,"
	    "\"level_db_approx_mem_size\":\"\",\"num_reads\":-1,"
	    "\"num_writes\":[1],\"resident_set_size\":null,"
	    "\"level_db_stats\":7}"));
	CHECK_INT(stats.have, 0);
	CHECK_OK(parse("{\"ext_cache_hit_ratio\":0,"
	    "\"level_db_approx_mem_size\":77}"));
	CHECK(has(LEVELDB_HIT_RATIO));
	CHECK_INT(stats.field[LEVELDB_HIT_RATIO], 0);
	CHECK_INT(stats.field[LEVELDB_MEMORY], 77);
	CHECK(!has(LEVELDB_READS));
	CHECK_OK(parse("{\"num_reads\":1e300}"));
	CHECK(!has(LEVELDB_READS));
}

TEST(not_an_answer)
{
	CHECK(parse("") != NULL);
	CHECK(parse("[1]") != NULL);
	CHECK(parse("{\"a\":") != NULL);
	CHECK(parse("<html>") != NULL);
	CHECK(parse("{\"level_db_stats\":\"hello\",\"num_reads\":4}") !=
	    NULL);
	CHECK_INT(stats.field[LEVELDB_READS], 4); /* the rest is good */
	CHECK_INT(stats.n_levels, 0);
	CHECK(parse("{\"level_db_stats\":\"  0 1 2 3 4\\n\"}") != NULL);
	CHECK(parse("{\"level_db_stats\":\"  0 1 2 3 4 nan\\n\"}") != NULL);
	CHECK(parse("{\"level_db_stats\":\"  0 1 2 3 4 5 6\\n\"}") != NULL);
}

TEST(too_many_rows)
{
	char text[1000];
	size_t n = 0;

	for (int i = 0; i < 17; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "%d 1 1 1 1 1\n", i);
	CHECK(leveldb_stats_table(text, n, &stats) != NULL);
	CHECK_INT(stats.n_levels, 0);
}

TEST(real_answers)
{
	FILE *f = fopen("tests/data/resilientdb-transaction_data.jsonl", "r");
	static char line[65536];
	int lines = 0;

	CHECK(f != NULL);
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		CHECK_OK(parse(line));
		CHECK_INT(stats.have, (1 << LEVELDB_FIELDS) - 1);
		CHECK_INT(stats.n_levels, 3);
		lines++;
		for (size_t cut = 0; cut + 2 < strlen(line); cut++) {
			char *copy = malloc(cut + 1);

			memcpy(copy, line, cut);
			CHECK(leveldb_stats_parse(copy, cut, &stats) != NULL);
			free(copy);
		}
	}
	CHECK_INT(lines, 3);
	fclose(f);
}

int
main(void)
{
	RUN(all_fields);
	RUN(empty_table);
	RUN(absent_and_odd_fields);
	RUN(not_an_answer);
	RUN(too_many_rows);
	RUN(real_answers);
	return test_done();
}
