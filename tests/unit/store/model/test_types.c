/*
 * The table of profile types: each row is found by every word for it, ids
 * lead back to it, and what strangers call their own works without a row.
 */
#include "store/model/typeid.h"
#include "store/model/types.h"
#include "store/model/unit.h"
#include "tests/unit/test.h"

TEST(each_row_is_whole)
{
	for (size_t i = 0; i < n_types; i++) {
		const struct type *t = &types[i];

		CHECK(types_find(t->name) == t); /* and is the only one */
		CHECK(t->title[0] != '\0');
		CHECK(series_is_profile(t->kind));
		CHECK(unit_is_known(t->unit));
		CHECK(types_kind(t->name) == t->kind);
		CHECK(!t->timed || unit_is_time(t->unit));
		CHECK(t->units == NULL || unit_is_known(t->units));
	}
}

TEST(an_id_leads_back_to_its_row)
{
	struct typeid id;
	char name[64];

	for (size_t i = 0; i < n_types; i++) {
		const struct type *t = &types[i];
		const char *unit = unit_canonical(t->unit, NULL);

		typeid_of(&id, t->name, unit);
		CHECK_INT(typeid_name(id.group, id.type, id.unit, name,
		    sizeof(name)), t->kind);
		CHECK_STR(name, t->name);
		CHECK_STR(id.unit, unit);
	}
}

TEST(words_of_clients_find_rows)
{
	CHECK_STR(types_of_sample("contentions")->name, "mutex_count");
	CHECK_STR(types_of_sample("delay")->name, "mutex_duration");
	CHECK_STR(types_of_sample("goroutine")->name, "goroutines");
	CHECK_STR(types_of_sample("space")->name, "inuse_space");
	CHECK_STR(types_of_sample("cpu")->name, "cpu");
	CHECK(types_of_sample("furlongs") == NULL);
	CHECK_STR(types_of_group("block", "delay")->name, "block_duration");
	CHECK_STR(types_of_group("goroutines", "goroutine")->name,
	    "goroutines");
	CHECK(types_of_group("block", "cpu") == NULL);
	CHECK_STR(types_of_units("samples")->name, "cpu");
	CHECK_STR(types_of_units("KiB")->name, "inuse_space");
	CHECK_STR(types_of_units("lock_samples")->name, "lock_count");
	CHECK(types_of_units("count") == NULL);
}

/* Agents' units are taken, and never told. */
TEST(no_row_tells_an_agents_own_unit)
{
	CHECK_STR(types_of_units("lock_nanoseconds")->name, "lock_duration");
	for (size_t i = 0; i < n_types; i++) {
		const char *unit = unit_canonical(types[i].unit, NULL);

		CHECK(strcmp(unit, "nanoseconds") == 0 ||
		    strcmp(unit, "bytes") == 0 || strcmp(unit, "count") == 0);
	}
}

TEST(a_stranger_needs_no_row)
{
	const struct type t = types_other("furlongs", "miles", SERIES_STOCK);
	struct typeid id;
	char name[64];

	CHECK_STR(t.title, "furlongs");
	CHECK_STR(t.unit, "miles");
	CHECK_STR(types_source_name(t.source), "pushed");
	CHECK_INT(types_kind("inuse_furlongs"), SERIES_STOCK);
	CHECK_INT(types_kind("furlongs"), SERIES_FLOW);
	typeid_of(&id, t.name, t.unit);
	CHECK_STR(id.text, "furlongs:furlongs:miles:furlongs:miles");
	CHECK_INT(typeid_name("memory", "inuse_furlongs", "count", name,
	    sizeof(name)), SERIES_STOCK);
	CHECK_STR(name, "memory_inuse_furlongs");
}

int
main(void)
{
	RUN(each_row_is_whole);
	RUN(an_id_leads_back_to_its_row);
	RUN(words_of_clients_find_rows);
	RUN(no_row_tells_an_agents_own_unit);
	RUN(a_stranger_needs_no_row);
	return test_done();
}
