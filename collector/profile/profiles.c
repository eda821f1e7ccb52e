/*
 * The table of profiles, as one source with a state for each.
 */
#include "collector/profile/profiles.h"

#include "collector/engine/engine.h"

#define PROFILES_ROW(name, ...) &profile_##name,

static const struct profile *const profiles[] = {PROFILES(PROFILES_ROW)};

_Static_assert(N_PROFILES <= PROFILES_MAX, "more than there is room for");

static const char *
profiles_name(size_t part)
{
	return part < N_PROFILES ? profiles[part]->name : NULL;
}

static const struct err *
profiles_open(void **out, const struct config *config,
    struct services *services)
{
	return engine_open(out, config, services, profiles,
	    N_PROFILES);
}

static bool
profiles_reload(void *source, const struct config *config)
{
	return engine_reload(source, config, profiles, N_PROFILES);
}

const struct source_ops source_profiles = {
    .spends = SPENT_NAMES,
    .name = profiles_name,
    .open = profiles_open,
    .fd = engine_fd,
    .poll = engine_poll,
    .close_slot = engine_close_slot,
    .stop = engine_stop,
    .state = engine_state,
    .close = engine_close,
    .reload = profiles_reload,
};
