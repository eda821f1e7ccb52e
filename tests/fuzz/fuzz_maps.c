/*
 * The text of /proc/PID/maps, whose paths others choose.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/maps/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct maps_list l;
	size_t i;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	maps_parse(text, size, &l);
	maps_mark_foreign(&l, text);
	for (i = 0; i < l.n; i++) {
		const struct mapping *m = &l.mappings[i];

		if (m->start >= m->end ||
		    maps_list_find(&l, m->start) == NULL ||
		    strlen(maps_name(&l, m)) > size)
			abort();
	}
	maps_list_fini(&l);
	free(text);
	return 0;
}
