/*
 * Answers of the playground's target: HTTP, then the stored JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/http_client.h"
#include "fcgi/kv/kv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_answer a = {0};
	struct buf value = {0};

	if (http_parse((const char *)data, size, &a) == NULL) {
		if (a.body.len > size)
			abort();
		if (kv_value(&a, &value) == NULL &&
		    !writer_utf8_valid((const char *)value.data, value.len))
			abort();
	}
	buf_fini(&a.body);
	buf_fini(&value);
	return 0;
}
