/*
 * Where threads wait, and how long: each time that one comes back to a CPU.
 */
#include <string.h>

#include "collector/base/config.h"
#include "collector/profile/profiles.h"

static enum waits_stacks
offcpu_stacks(const char *name)
{
	static const char *const names[] = {[WAITS_AUTO] = "auto",
	    [WAITS_INTERRUPT] = "interrupt", [WAITS_BACK] = "back",
	    [WAITS_SCHEDULE] = "schedule", [WAITS_LEAVE] = "leave"};
	size_t i = sizeof(names) / sizeof(names[0]) - 1;

	while (i > 0 && strcmp(names[i], name) != 0)
		i--;
	return (enum waits_stacks)i;
}

static bool
offcpu_waits(const struct config *c, struct waits_options *out)
{
	*out = (struct waits_options){.slot_ns = c->slot_ns,
	    .threshold_ns = c->profiles[PROFILE_offcpu].every,
	    .idle_ns = c->profiles[PROFILE_offcpu].every,
	    .kernel = c->kernel,
	    .eh_frame = strcmp(c->unwinder, "eh_frame") == 0,
	    .stacks = offcpu_stacks(c->offcpu_stacks)};
	return c->profiles[PROFILE_offcpu].enabled;
}

const struct profile profile_offcpu = {.name = "offcpu",
    .waits = offcpu_waits};
