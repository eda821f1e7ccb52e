/*
 * Names of places in a file by way of the symbols child, with inlined
 * functions, for the system tests.  Needs no rights.
 *
 *	cpu_names [-m MIRROR] DEBUG FILE OFFSET...
 *
 * DEBUG is the folder of debug files by build id, MIRROR that of a mirror;
 * offsets are in the file.
 * Output, a line for each frame, outermost first:
 *	frame OFFSET KIND NAME PLACE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"

#define PATIENCE_NS (60 * NS_PER_S)

/* What symbols_tell_places() tells of one frame. */
struct wanted {
	struct frame frame;
	char place[512];
};

static void
take_place(void *arg, const struct frame *frame, const char *place)
{
	struct wanted *w = arg;

	if (frame->kind == w->frame.kind &&
	    strcmp(frame->name, w->frame.name) == 0)
		snprintf(w->place, sizeof(w->place), "%s", place);
}

static void
resolve(struct symbols *s, uint32_t file, int fd, uint64_t offset)
{
	int64_t until = clock_mono_ns() + PATIENCE_NS;
	uint32_t refs[SYMBOLS_EXPAND_MAX];
	uint32_t ref = symbols_user(s, file, offset);
	size_t i, n;

	while (!symbols_is_settled(s, ref) && clock_mono_ns() < until) {
		if (symbols_wants(s, file))
			symbols_load(s, file, fd);
		symbols_settle(s, NS_PER_S);
		symbols_pump(s, clock_mono_ns());
	}
	n = symbols_expand(s, ref, refs);
	for (i = 0; i < n; i++) {
		struct wanted w = {.frame = symbols_get(s, refs[i])};

		symbols_tell_places(s, 1, 0, SIZE_MAX, take_place, &w);
		printf("frame 0x%llx %s %s %s\n", (unsigned long long)offset,
		    frame_kind_name(w.frame.kind), w.frame.name, w.place);
	}
}

int
main(int argc, char **argv)
{
	const struct err *e;
	struct symbols *s;
	uint32_t file;
	const char *mirror = NULL;
	int fd, i;

	log_init("cpu_names", LOG_L_INFO);
	if (argc > 2 && strcmp(argv[1], "-m") == 0) {
		mirror = argv[2];
		argc -= 2;
		argv += 2;
	}
	fd = argc < 3 ? -1 : open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "cpu_names: %s\n", strerror(errno));
		return 2;
	}
	e = symbols_new(&s, NULL, argv[1]);
	if (e != NULL) {
		fprintf(stderr, "cpu_names: %s\n", e->text);
		return 1;
	}
	symbols_set_inline(s, true);
	symbols_set_mirror(s, mirror);
	file = symbols_file(s, fd, argv[2]);
	for (i = 3; i < argc && file != SYMBOLS_NO_FILE; i++)
		resolve(s, file, fd, strtoull(argv[i], NULL, 0));
	symbols_free(s);
	return 0;
}
