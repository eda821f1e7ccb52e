/*
 * The types of profiles that the daemon takes by itself, as
 * collector/base/profile_list.h lists them.
 */
#ifndef COLLECTOR_PROFILES_H
#define COLLECTOR_PROFILES_H

#include "collector/base/profile_list.h"
#include "collector/engine/profile.h"

#define PROFILES_DECLARE(name, ...) extern const struct profile profile_##name;
PROFILES(PROFILES_DECLARE)

#endif
