#include "step.h"

#include "fcgi/request.h"
#include "fcgi/timespec.h"
#include "store/base/err.h"

const struct err *
step_parse(const struct request *rq, int64_t from_ns, int64_t until_ns,
    int64_t slot_ns, int64_t *step_ns)
{
	const char *text = request_text(rq, "step");
	const struct err *e;
	int64_t slots, wanted;

	wanted = (until_ns - from_ns) / STEP_POINTS_DEFAULT;
	if (text != NULL &&
	    (e = timespec_parse_duration(text, &wanted)) != NULL)
		return err_field(ERR_REQUEST, 400, "step", "%s", e->text);
	slots = wanted / slot_ns + (wanted % slot_ns != 0);
	if (slots < 1)
		slots = 1;
	if (__builtin_mul_overflow(slots, slot_ns, step_ns))
		return err_field(ERR_REQUEST, 400, "step", "is too long");
	return NULL;
}

const struct err *
step_room(int64_t from_ns, int64_t until_ns, int64_t step_ns, size_t most,
    size_t *series)
{
	int64_t span = until_ns - from_ns;
	int64_t points = span / step_ns + (span % step_ns != 0);

	*series = most;
	if (points > STEP_POINTS_MAX)
		return err_field(ERR_REQUEST, 413, "step", "%lld points a "
		    "series are more than %d: ask for a longer step",
		    (long long)points, STEP_POINTS_MAX);
	if (points > 0 && *series > (size_t)(STEP_POINTS_MAX / points))
		*series = (size_t)(STEP_POINTS_MAX / points);
	return NULL;
}
