/*
 * Attaches the programs of a BPF object file, says so, and waits to be ended.
 *
 *	offcpu_attach FILE
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct bpf_object *o = argc == 2 ? bpf_object__open(argv[1]) : NULL;
	struct bpf_program *p;

	if (o == NULL || bpf_object__load(o) != 0)
		return 1;
	bpf_object__for_each_program(p, o)
		if (bpf_program__attach(p) == NULL)
			return 1;
	puts("attached");
	fflush(stdout);
	pause();
	return 0;
}
