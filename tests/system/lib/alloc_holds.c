/* Holds 20 MiB, and 200 more once it is told, by a line each time. */
#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
	static const size_t megabytes[] = {20, 200};
	char line[16];

	for (int i = 0; i < 2; i++) {
		char *volatile held = malloc(megabytes[i] << 20);

		if (held == NULL || puts("held") < 0 || fflush(stdout) != 0)
			return 1;
		if (fgets(line, sizeof(line), stdin) == NULL)
			return 0;
	}
	return 0;
}
