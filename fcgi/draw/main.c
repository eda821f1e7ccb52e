/*
 * memlens-draw: a picture from standard input to standard output, or picture
 * after picture for a worker.  The libraries that draw are many and large; the
 * worker, which reads strangers' bytes, has none of them and runs this
 * (fcgi/server/draw.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <fontconfig/fontconfig.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fcgi/draw/layout.h"
#include "fcgi/draw/png.h"
#include "fcgi/draw/standby.h"
#include "fcgi/draw/walls.h"
#include "fcgi/server/draw_job.h"
#include "fcgi/server/version.h"
#include "store/base/buf.h"
#include "store/base/err.h"

#define INPUT_MAX (256u << 20)

enum { EXIT_USAGE = 2 };

static const struct option long_options[] = {
    {"scale", required_argument, NULL, 's'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char usage[] =
    "usage: memlens-draw [-hV] [-s N] COMMAND <INPUT >PICTURE\n"
    "Draws for memlens-fcgi.\n\n"
    "  graph  the SVG of a graph in DOT\n"
    "  png    the PNG of an SVG\n"
    "  serve  both, for the worker whose socket is standard input\n\n"
    "  -h, --help     this text\n"
    "  -s, --scale N  png: pixels for a pixel of the SVG, 1 (default) to 4\n"
    "  -V, --version  print the version\n\n"
    "Example: memlens-draw -s 2 png <flamegraph.svg >flamegraph.png\n";

static const struct err *
main_read(struct buf *in)
{
	ssize_t n;

	do {
		if (in->len > INPUT_MAX)
			return err_new(ERR_LIMIT, 0, "the input is too large");
		if (!buf_reserve(in, 1 << 20))
			return err_nomem();
		n = read(STDIN_FILENO, in->data + in->len, 1 << 20);
		if (n > 0)
			in->len += (size_t)n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? err_errno("standard input") : NULL;
}

static const struct err *
main_write(const struct buf *out)
{
	size_t done = 0;

	while (done < out->len) {
		ssize_t n = write(STDOUT_FILENO, out->data + done,
		    out->len - done);

		if (n < 0 && errno != EINTR)
			return err_errno("standard output");
		if (n > 0)
			done += (size_t)n;
	}
	return NULL;
}

static const struct err *
main_draw(const struct draw_job *job)
{
	struct buf in = {0}, out = {0};
	const struct err *e = main_read(&in);

	if (e != NULL)
		return e;
	if (job->command == DRAW_PNG) {
		e = png_put(&out, &in, job->scale);
	} else {
		buf_put_u8(&in, '\0');
		e = in.failed ? err_nomem()
			      : layout_put(&out, (const char *)in.data);
	}
	if (e == NULL && out.failed)
		e = err_nomem();
	return e != NULL ? e : main_write(&out);
}

/* Libraries say all kinds of things on standard error: from here on our own
 * word goes where this returns. */
static int
main_silence(void)
{
	int said = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDERR_FILENO);
	return said;
}

/* One line, whatever a library has put into its words. */
static void
main_say(int fd, const struct err *e)
{
	char line[sizeof(e->text)];

	snprintf(line, sizeof(line), "%s", e->text);
	for (char *c = line; *c != '\0'; c++)
		if ((unsigned char)*c < ' ')
			*c = c[1] == '\0' ? '\0' : ' ';
	dprintf(fd, "memlens-draw: %s\n", line);
}

/* The exit status. */
static int
main_picture(const struct draw_job *job, int said)
{
	const struct err *e = main_draw(job);

	if (e != NULL)
		main_say(said, e);
	return e != NULL;
}

static bool
main_command(struct draw_job *job, bool *serve, const char *command)
{
	*serve = strcmp(command, "serve") == 0;
	job->command = strcmp(command, "png") == 0 ? DRAW_PNG : DRAW_GRAPH;
	return *serve || job->command == DRAW_PNG ||
	    strcmp(command, "graph") == 0;
}

/* -1: go on; else the exit status. */
static int
main_options(int argc, char **argv, struct draw_job *job, bool *serve)
{
	int option;

	while ((option = getopt_long(argc, argv, "s:hV", long_options,
	    NULL)) != -1)
		switch (option) {
		case 's':
			job->scale = *optarg - '0';
			if (job->scale >= 1 && job->scale <= PNG_SCALE_MAX &&
			    optarg[1] == '\0')
				break;
			fprintf(stderr, "memlens-draw: -s takes a number from "
			    "1 to %d\n", PNG_SCALE_MAX);
			return EXIT_USAGE;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("memlens-draw " MEMLENS_VERSION);
			return 0;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	if (optind + 1 == argc && main_command(job, serve, argv[optind]))
		return -1;
	fputs(usage, stderr);
	return EXIT_USAGE;
}

/* The libraries are there since we started: what is worth loading once, too,
 * is which fonts there are.  It makes no thread, which a fork would lose. */
static int
main_serve(int said)
{
	FcInit();
	return standby_serve(main_picture, said);
}

int
main(int argc, char **argv)
{
	struct draw_job job = {.scale = 1};
	bool serve = false;
	int status = main_options(argc, argv, &job, &serve), said;

	if (status >= 0)
		return status;
	said = main_silence();
	if (serve)
		return main_serve(said);
	walls_enter();
	_exit(main_picture(&job, said)); /* without what libraries tidy up */
}
