/*
 * What the playground's target has stored: any bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/writer.h"
#include "fcgi/kv/kv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_answer a = {.status = 200};
	struct buf value = {0};

	buf_put(&a.body, data, size);
	if (kv_value(&a, &value) == NULL &&
	    !writer_utf8_valid((const char *)value.data, value.len))
		abort();
	buf_fini(&a.body);
	buf_fini(&value);
	return 0;
}
