/*
 * Addresses from standard input to functions and lines, as
 * `addr2line -a -f -i -C -e PROGRAM` prints them: for comparison with it.
 *
 *	symbolize PROGRAM <addresses
 */
#include "fcgi/symbolize/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/base/err.h"

static void
print(uint64_t address, const struct symbolized *frames, size_t n)
{
	printf("0x%016" PRIx64 "\n", address);
	if (n == 0)
		printf("??\n??:0\n");
	while (n-- > 0) {
		const struct symbolized *f = &frames[n];

		printf("%s\n", f->name == NULL ? "??" : f->name);
		if (f->file == NULL)
			printf("??:");
		else
			printf("%s:", f->file);
		if (f->line > 0)
			printf("%d\n", f->line);
		else
			printf("%s\n", f->file == NULL ? "0" : "?");
	}
}

int
main(int argc, char **argv)
{
	struct symbolized frames[SYMBOLIZED_MAX];
	struct symbolizer *s;
	const struct err *e;
	char line[64];

	if (argc != 2)
		return 2;
	e = symbolizer_open(&s, argv[1]);
	if (e != NULL) {
		fprintf(stderr, "%s\n", e->text);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin) != NULL) {
		uint64_t address = strtoull(line, NULL, 16);

		print(address, frames, symbolizer_find(s, address, frames));
	}
	symbolizer_close(s);
	return 0;
}
