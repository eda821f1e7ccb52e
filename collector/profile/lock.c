/*
 * Waits for locks: how long, how many, and who held them.  They are a part of
 * the waits that offcpu takes (collector/engine/locks.h).
 */
#include "collector/base/config.h"
#include "collector/profile/profiles.h"

static bool
lock_is_on(const struct config *c)
{
	return c->profiles[PROFILE_lock].enabled;
}

const struct profile profile_lock = {.name = "lock", .part = lock_is_on,
    .lock = LOCK_TIME};
const struct profile profile_lock_waits = {.name = "lock_waits",
    .part = lock_is_on, .lock = LOCK_COUNT};
const struct profile profile_lock_holder = {.name = "lock_holder",
    .part = lock_is_on, .lock = LOCK_HOLDER};
