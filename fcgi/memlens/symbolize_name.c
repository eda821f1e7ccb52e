/*
 * From linkers' names to those of people: Rust's schemes by libiberty, C++'s
 * by its runtime.
 */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "fcgi/memlens/symbolize_private.h"

#define RAW_MAX 65536 /* longer ones stay as they are */

/* From <cxxabi.h>, which C cannot include. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *size,
    int *status);

char *
symbolize_demangle(const char *raw)
{
	/* "read@@GLIBC_2.2.5" carries its version */
	const char *version = raw[0] == '\0' ? NULL : strchr(raw + 1, '@');
	bool mangled = raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R');
	char *bare = NULL, *plain;

	if (version != NULL) {
		bare = strndup(raw, (size_t)(version - raw));
		if (bare == NULL)
			return NULL;
		raw = bare;
	}
	if (!mangled || strlen(raw) > RAW_MAX)
		return bare;
	plain = rust_demangle(raw, 0);
	if (plain == NULL && raw[1] == 'Z')
		plain = __cxa_demangle(raw, NULL, NULL, NULL);
	if (plain == NULL)
		return bare;
	free(bare);
	return plain;
}
