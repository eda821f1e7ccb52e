/*
 * Where threads wait, and how long: each time that one comes back to a CPU.
 */
#include <string.h>

#include "collector/base/config.h"
#include "collector/profile/profiles.h"

static bool
offcpu_waits(const struct config *c, struct waits_options *out)
{
	*out = (struct waits_options){.slot_ns = c->slot_ns,
	    .threshold_ns = c->profiles[PROFILE_offcpu].every,
	    .kernel = c->kernel,
	    .eh_frame = strcmp(c->unwinder, "eh_frame") == 0,
	    .stacks = strcmp(c->offcpu_stacks, "back") == 0 ? WAITS_BACK :
	        strcmp(c->offcpu_stacks, "schedule") == 0 ? WAITS_SCHEDULE :
	        strcmp(c->offcpu_stacks, "leave") == 0 ? WAITS_LEAVE :
	        WAITS_AUTO};
	return c->profiles[PROFILE_offcpu].enabled;
}

const struct profile profile_offcpu = {.name = "offcpu",
    .waits = offcpu_waits};
