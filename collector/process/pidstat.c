/*
 * Fields are counted as in proc(5): 1 is the pid, 2 the name, 3 the state.
 */
#include "collector/process/pidstat.h"

#include <stdlib.h>
#include <string.h>

#include "store/base/text.h"

#define PF_KTHREAD 0x00200000u

enum {
	FIELD_PARENT = 4,
	FIELD_FLAGS = 9,
	FIELD_MINFLT = 10,
	FIELD_MAJFLT = 12,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_THREADS = 20,
	FIELD_START = 22,
	FIELD_VSIZE = 23,
	FIELD_RSS = 24,
	FIELD_STARTCODE = 26,
	FIELD_ENDCODE = 27,
	FIELD_STARTSTACK = 28,
	FIELD_LAST = 28
};

/* Reads fields 4 to FIELD_LAST; false when there are fewer. */
static bool
pidstat_numbers(const char *p, const char *end, uint64_t *field)
{
	for (int i = 4; i <= FIELD_LAST; i++) {
		bool minus = false, digits = false;

		while (p < end && *p == ' ')
			p++;
		if (p < end && *p == '-')
			minus = true, p++;
		for (field[i] = 0; p < end && *p >= '0' && *p <= '9'; p++) {
			field[i] = field[i] * 10 + (uint64_t)(*p - '0');
			digits = true;
		}
		if (!digits)
			return false;
		if (minus)
			field[i] = -field[i];
	}
	return true;
}

bool
pidstat_parse(const char *text, size_t n, struct pidstat *out)
{
	const char *open = memchr(text, '(', n), *close;
	uint64_t field[FIELD_LAST + 1];
	size_t len;

	close = memrchr(text, ')', n); /* the name may hold anything */
	if (open == NULL || close == NULL || close < open ||
	    text + n - close < 4)
		return false;
	if (!pidstat_numbers(close + 3, text + n, field))
		return false;
	memset(out, 0, sizeof(*out));
	len = (size_t)(close - open - 1);
	if (len >= sizeof(out->comm))
		len = sizeof(out->comm) - 1;
	memcpy(out->comm, open + 1, len);
	text_clean(out->comm);
	out->state = close[2];
	out->parent = (int32_t)field[FIELD_PARENT];
	out->kernel_thread = (field[FIELD_FLAGS] & PF_KTHREAD) != 0;
	out->minor_faults = field[FIELD_MINFLT];
	out->major_faults = field[FIELD_MAJFLT];
	out->user_ticks = field[FIELD_UTIME];
	out->system_ticks = field[FIELD_STIME];
	out->threads = field[FIELD_THREADS];
	out->start_ticks = field[FIELD_START];
	out->virtual_bytes = field[FIELD_VSIZE];
	out->resident_pages = field[FIELD_RSS];
	out->code_start = field[FIELD_STARTCODE];
	out->code_end = field[FIELD_ENDCODE];
	out->stack_start = field[FIELD_STARTSTACK];
	return true;
}
