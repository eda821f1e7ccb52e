/*
 * Times and lengths of time.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/server/timespec.h"
#include "store/base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	int64_t ns;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (timespec_parse(text, INT64_C(1700000000) * NS_PER_S, &ns) ==
	    NULL && ns < 0)
		abort();
	if (timespec_parse_duration(text, &ns) == NULL && ns <= 0)
		abort();
	free(text);
	return 0;
}
