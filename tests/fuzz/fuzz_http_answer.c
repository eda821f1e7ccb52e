/*
 * The scraper's reading of HTTP answers: any bytes, whole and cut.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collector/scrape/scrape_http.c" /* no library holds the scraper */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct buf in = {0}, body = {0};
	int status;

	buf_put(&in, data, n);
	for (int eof = 0; eof < 2; eof++) {
		enum http_state state = http_answer(&in, eof, &status, &body);

		if (eof && state == HTTP_BUSY)
			abort();
		if (state == HTTP_DONE && body.len > HTTP_BODY_MAX)
			abort();
	}
	buf_fini(&in);
	buf_fini(&body);
	return 0;
}
