/*
 * Memory that programs ask for, and what of it is in use: as the library tells
 * that they have preloaded.
 */
#include <stdio.h>
#include <string.h>

#include "collector/alloc/beside.h"
#include "collector/base/config.h"
#include "collector/profile/profiles.h"

/* Where there is no library, nobody has preloaded it. */
static bool
alloc_options(const struct config *c, struct allocs_options *out)
{
	const char *path = c->alloc_library;

	out->eh_frame = strcmp(c->unwinder, "eh_frame") == 0;
	if (!c->profiles[PROFILE_alloc_space].enabled)
		return false;
	if (path == NULL || path[0] == '\0')
		return beside_find(BESIDE_ALLOC, out->library,
		    sizeof(out->library));
	snprintf(out->library, sizeof(out->library), "%s", path);
	return true;
}

static bool
alloc_is_on(const struct config *c)
{
	struct allocs_options o;

	return alloc_options(c, &o);
}

const struct profile profile_alloc_space = {.name = "alloc_space",
    .allocs = alloc_options};
const struct profile profile_alloc_objects = {.name = "alloc_objects",
    .part = alloc_is_on, .memory = ALLOCS_OBJECTS};
const struct profile profile_short_space = {.name = "short_space",
    .part = alloc_is_on, .memory = ALLOCS_SHORT};
const struct profile profile_inuse_space = {.name = "inuse_space",
    .part = alloc_is_on, .memory = ALLOCS_IN_USE};
const struct profile profile_inuse_objects = {.name = "inuse_objects",
    .part = alloc_is_on, .memory = ALLOCS_IN_USE_OBJECTS};
