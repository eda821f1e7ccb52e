/*
 * Landlock by its system calls; the structures are the kernel's, the header
 * of an older system does not know all of them.
 */
#include "fcgi/child/sandbox.h"

#include <fcntl.h>
#include <link.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FS_TRUNCATE (UINT64_C(1) << 14)     /* version 3 */
#define NET_BIND_TCP (UINT64_C(1) << 0)     /* version 4 */
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define RULE_NET_PORT 2

struct sandbox_ruleset {
	uint64_t fs, net;
};

struct sandbox_port {
	uint64_t access, port;
};

/* All that changes a file or a folder, and starting programs. */
#define FS_WRITES                                                              \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |          \
	    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |   \
	    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |       \
	    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |       \
	    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |     \
	    LANDLOCK_ACCESS_FS_MAKE_SYM)

static void
sandbox_allow_file(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access,
	    .parent_fd = open(path, O_PATH | O_CLOEXEC)};

	if (rule.parent_fd < 0)
		return;
	syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
	    &rule, 0);
	close(rule.parent_fd);
}

/* The path of the dynamic loader, which is that of the program as well. */
static int
sandbox_find_loader(struct dl_phdr_info *me, size_t size, void *path)
{
	(void)size;
	for (unsigned i = 0; i < me->dlpi_phnum; i++)
		if (me->dlpi_phdr[i].p_type == PT_INTERP)
			*(const char **)path = (const char *)me->dlpi_addr +
			    me->dlpi_phdr[i].p_vaddr;
	return 1; /* the first one is this program */
}

static void
sandbox_allow_program(int ruleset, const char *program)
{
	const char *loader = NULL;

	dl_iterate_phdr(sandbox_find_loader, &loader);
	sandbox_allow_file(ruleset, program, LANDLOCK_ACCESS_FS_EXECUTE);
	if (loader != NULL)
		sandbox_allow_file(ruleset, loader,
		    LANDLOCK_ACCESS_FS_EXECUTE);
}

static void
sandbox_allow_port(int ruleset, uint16_t port)
{
	struct sandbox_port rule = {NET_CONNECT_TCP, port};

	syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0);
}

int
sandbox_enter(uint16_t port, const char *program)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	struct sandbox_ruleset all = {FS_WRITES, 0};
	int ruleset, held;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || version <= 0)
		return 0;
	if (version >= 3)
		all.fs |= FS_TRUNCATE;
	if (version >= 4)
		all.net = NET_BIND_TCP | NET_CONNECT_TCP;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &all,
	    version >= 4 ? sizeof(all) : sizeof(all.fs), 0);
	if (ruleset < 0)
		return 0;
	/* takes the words of child processes */
	sandbox_allow_file(ruleset, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (program != NULL)
		sandbox_allow_program(ruleset, program);
	if (version >= 4 && port != 0)
		sandbox_allow_port(ruleset, port);
	held = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
	close(ruleset);
	return held ? (int)version : 0;
}
