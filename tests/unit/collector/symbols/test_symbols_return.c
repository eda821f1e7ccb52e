/*
 * What a signal's handler returns to, right behind another function: as a
 * caller, it is looked up by the byte before its address.
 */
#include <fcntl.h>
#include <unistd.h>

#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "tests/unit/test.h"

extern const char __ehdr_start[];

void before_it(void);
void signal_return(void);
__asm__(".text\n.type before_it, @function\nbefore_it: nop; ret\n"
    ".size before_it, . - before_it\n"
    ".type signal_return, @function\n"
    "signal_return: mov $15, %rax; syscall\n"
    ".size signal_return, . - signal_return\n");

static struct frame
resolve(struct symbols *s, uint32_t file, void (*fn)(void), int before, int fd)
{
	int64_t until = clock_mono_ns() + 30 * NS_PER_S;
	uint64_t offset = (uint64_t)((uintptr_t)fn -
	    (uintptr_t)__ehdr_start) - (uint64_t)before;
	uint32_t ref;

	while (((ref = symbols_user(s, file, offset)) &
	    SYMBOLS_UNRESOLVED) != 0 && clock_mono_ns() < until) {
		symbols_pump(s, clock_mono_ns());
		if (symbols_wants(s, file))
			symbols_load(s, file, fd);
		symbols_settle(s, 100 * NS_PER_MS);
	}
	return symbols_get(s, symbols_final(s, ref));
}

TEST(the_byte_before_is_its_own)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct symbols *s;
	struct frame f;
	uint32_t file;

	CHECK_OK(symbols_new(&s, NULL, NULL));
	file = symbols_file(s, fd, "/opt/bin/test");
	f = resolve(s, file, before_it, 0, fd);
	CHECK_STR(f.name, "before_it");
	f = resolve(s, file, signal_return, 0, fd);
	CHECK_STR(f.name, "signal_return");
	f = resolve(s, file, signal_return, 1, fd);
	CHECK_STR(f.name, "signal_return");
	symbols_free(s);
	close(fd);
}

int
main(void)
{
	log_init("test_symbols_return", LOG_L_ERR);
	RUN(the_byte_before_is_its_own);
	return test_done();
}
