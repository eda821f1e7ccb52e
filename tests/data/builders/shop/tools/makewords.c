#include <stdio.h>

int
main(int n, char **v)
{
	FILE *f = fopen(v[n - 1], "w");

	return f == NULL ||
	    fputs("const char *words[] = {\"one\"};\n", f) < 0 ||
	    fclose(f) != 0;
}
