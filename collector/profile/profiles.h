/*
 * The types of profiles that the daemon takes by itself, one file each.
 */
#ifndef COLLECTOR_PROFILES_H
#define COLLECTOR_PROFILES_H

#include "collector/engine/profile.h"

extern const struct profile profile_cpu;

#endif
