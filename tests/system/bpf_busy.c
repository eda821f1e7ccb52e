/*
 * Loads a BPF program and runs it until it is killed, for the system tests.
 *
 *	bpf_busy NAME
 *
 * Prints the program's address and its name as the kernel's lists have it once
 * it is loaded.  Ends with 77 where none can be loaded, or none is compiled.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 10000 /* some 10 us */

/* Of another tag for each name. */
static int
load(const char *name)
{
	int32_t own = 0;

	for (const char *c = name; *c != '\0'; c++)
		own = own * 31 + *c;
	struct bpf_insn code[] = {
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = own},
	    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1,
	        .imm = ROUNDS},
	    {.code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 1, .imm = 1},
	    {.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -2},
	    {.code = BPF_JMP | BPF_EXIT}};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, name, "GPL", code,
	    sizeof(code) / sizeof(code[0]), NULL);
}

static int
say(int fd, const char *name)
{
	uint64_t address = 0;
	struct bpf_prog_info info = {.nr_jited_ksyms = 1,
	    .jited_ksyms = (uintptr_t)&address};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0 || address == 0)
		return 77;
	printf("0x%llx bpf_prog_", (unsigned long long)address);
	for (size_t i = 0; i < sizeof(info.tag); i++)
		printf("%02x", info.tag[i]);
	printf("_%s\n", name);
	return fflush(stdout);
}

int
main(int argc, char **argv)
{
	static uint8_t packet[ETH_HLEN + 50];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet,
	    .data_size_in = sizeof(packet), .repeat = 1000);
	int fd, r;

	if (argc != 2)
		return 2;
	fd = load(argv[1]);
	if (fd < 0) {
		perror("bpf_busy");
		return 77;
	}
	for (r = say(fd, argv[1]); r == 0;)
		r = bpf_prog_test_run_opts(fd, &run) == 0 ? 0 : 1;
	return r;
}
