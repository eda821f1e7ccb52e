/*
 * Where threads run: a clock that ticks on every CPU.
 */
#include <linux/perf_event.h>

#include "collector/base/config.h"
#include "collector/profile/profiles.h"

static bool
cpu_clock(const struct config *c, struct sampler_clock *out)
{
	*out = (struct sampler_clock){.event = PERF_COUNT_SW_CPU_CLOCK,
	    .hz = c->profiles[PROFILE_cpu].every};
	return c->profiles[PROFILE_cpu].enabled;
}

const struct profile profile_cpu = {.name = "cpu", .clock = cpu_clock};
