/*
 * The table of profiles against the table of types, and its switches.
 */
#include "collector/base/config.h"
#include "collector/base/source.h"
#include "collector/profile/profiles.h"
#include "store/base/err.h"
#include "store/model/types.h"
#include "tests/unit/test.h"

static bool
is_profiled(const char *name)
{
	size_t i;

	for (i = 0; source_profiles.name(i) != NULL; i++)
		if (strcmp(source_profiles.name(i), name) == 0)
			return true;
	return false;
}

/* What the profiler measures is in the table of types, and the other way
 * round; a sample stands for a period of what adds up. */
TEST(profiles_are_types)
{
	const struct type *type;
	size_t i;

	for (i = 0; source_profiles.name(i) != NULL; i++) {
		type = types_find(source_profiles.name(i));
		CHECK(type != NULL && (type->kind == SERIES_FLOW ||
		    strncmp(type->name, "inuse_", 6) == 0));
		CHECK(type != NULL && type->source == TYPE_PROFILED);
	}
	CHECK(i > 0 && i <= SOURCE_PARTS_MAX);
	for (i = 0; i < n_types; i++)
		CHECK(types[i].source != TYPE_PROFILED ||
		    types[i].parts != NULL ||
		    is_profiled(types[i].name));
}

TEST(a_clock_is_as_configured)
{
	struct sampler_clock clock;
	struct config config;

	CHECK_OK(config_load(&config, NULL));
	CHECK(profile_cpu.clock(&config, &clock));
	CHECK_INT(clock.hz, 99);
	config.profiles[PROFILE_cpu].enabled = false;
	CHECK(!profile_cpu.clock(&config, &clock));
	config_free(&config);
}

int
main(void)
{
	RUN(profiles_are_types);
	RUN(a_clock_is_as_configured);
	return test_done();
}
