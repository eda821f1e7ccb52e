/*
 * URLs and unix sockets of configurations; no name is looked up.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/http/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct http_place p;

	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (http_place_parse(&p, text, false) == NULL &&
	    (p.path[0] != '/' || p.name[0] == '\0' ||
	        strpbrk(p.path, "\r\n ") != NULL))
		abort();
	free(text);
	return 0;
}
