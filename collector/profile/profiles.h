/*
 * The types of profiles that the daemon takes by itself: NAME is
 * profile_NAME of NAME.c.  The place in the list is the type's number in
 * events and counters.
 */
#ifndef COLLECTOR_PROFILES_H
#define COLLECTOR_PROFILES_H

#include "collector/engine/profile.h"

#define PROFILES(EACH) \
	EACH(cpu)

#define PROFILES_DECLARE(name) extern const struct profile profile_##name;
PROFILES(PROFILES_DECLARE)

#endif
