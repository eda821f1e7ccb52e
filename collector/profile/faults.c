/*
 * Which code makes memory grow: page faults, as the bytes of the pages that
 * they bring in.
 */
#include <linux/perf_event.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/profile/profiles.h"

/* Programs fault as often as they like: a loop that does nothing else comes to
 * thousands of samples a second.  Twenty of a CPU are enough, and cost about a
 * thousandth of it. */
#define SAMPLE_NS 50000000

static bool
faults_clock(const struct config *c, struct sampler_clock *out)
{
	*out = (struct sampler_clock){.event = PERF_COUNT_SW_PAGE_FAULTS,
	    .period = c->profiles[PROFILE_faults].every,
	    .unit = sysconf(_SC_PAGESIZE),
	    .sample_ns = SAMPLE_NS};
	return c->profiles[PROFILE_faults].enabled;
}

const struct profile profile_faults = {.name = "faults",
    .clock = faults_clock};
