/*
 * What clients do at the daemon's socket, from the first byte to the store:
 * connections, headers, batches whole and of a stream, purges, deadlines, and
 * sealing between them.  Every answer must be one of those that intake.h
 * promises, and the store that is left must stand memlens verify.
 *
 * An input is cut into steps at each 0xfe 0xfe.  A step's first byte says
 * which of the clients (bits 0 and 1) does what (bits 2 to 4); headers and
 * checksums are made here, since no fuzzer finds them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/base/loop.h"
#include "collector/daemon.h"
#include "collector/ipc/intake.h"
#include "collector/ipc/purger.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/check/verify.h"
#include "store/store.h"

#define CLIENTS 4
#define SLOT_NS 1000
#define SPAN_NS (64 * SLOT_NS)

enum { WHOLE, STREAM, PURGE, RAW, HALVES, LEAVE, LATER, SEAL };

struct world {
	struct daemon d;
	struct config config;
	char dir[64], socket[80], store[80];
	int clients[CLIENTS]; /* -1: not connected */
	int64_t now_ns;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
need(const struct err *e)
{
	if (e == NULL)
		return;
	fprintf(stderr, "%s\n", e->text);
	abort();
}

/* Lets the daemon do what it has to do for one step of a client. */
static void
serve(struct world *w)
{
	for (int i = 0; i < 6; i++)
		need(loop_wait(w->d.loop, 0));
}

static int
enter(struct world *w, int *client)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (*client >= 0)
		return *client;
	*client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", w->socket);
	if (connect(*client, (struct sockaddr *)&to, sizeof(to)) != 0)
		abort();
	return *client;
}

static void
leave(int *client)
{
	if (*client >= 0)
		close(*client);
	*client = -1;
}

/* Takes the answers that have come; leaves where the daemon has. */
static void
hear(int *client)
{
	static const char *const known[] = {"ok", "error 4", "error 5",
	    "progress ", "purged "};
	char text[8192], *line = text, *end;
	ssize_t n = recv(*client, text, sizeof(text) - 1, MSG_DONTWAIT);
	size_t i;

	if (n == 0)
		leave(client);
	text[n > 0 ? n : 0] = '\0';
	for (; *line != '\0'; line = end + 1) {
		if ((end = strchr(line, '\n')) == NULL)
			abort();
		for (i = 0; i < 5 && strncmp(line, known[i],
		    strlen(known[i])) != 0;)
			i++;
		if (i == 5)
			abort();
	}
}

static void
say(struct world *w, int *client, const uint8_t *p, size_t n)
{
	ssize_t sent = send(enter(w, client), p, n, MSG_NOSIGNAL);

	serve(w);
	if (sent < 0)
		leave(client);
	else
		hear(client);
}

static void
say_record(struct world *w, int *client, const char *magic, bool halves,
    const uint8_t *p, size_t n)
{
	struct buf r = {0};

	buf_put(&r, magic, 4);
	buf_put_be32(&r, (uint32_t)n);
	buf_put_be32(&r, crc32c(0, p, n));
	buf_put_be32(&r, crc32c(0, r.data, 12));
	buf_put(&r, p, n);
	if (halves) {
		say(w, client, r.data, r.len / 2);
		say(w, client, r.data + r.len / 2, r.len - r.len / 2);
	} else {
		say(w, client, r.data, r.len);
	}
	buf_fini(&r);
}

static void
step(struct world *w, const uint8_t *p, size_t n)
{
	int *client = &w->clients[p[0] & 3];
	int what = p[0] >> 2 & 7;

	p++;
	n--;
	if (what == RAW)
		say(w, client, p, n);
	else if (what == LEAVE)
		leave(client);
	else if (what == LATER)
		intake_tick(w->d.intake, clock_mono_ns() +
		    (n > 0 ? p[0] : 0) * NS_PER_S);
	else if (what != SEAL)
		say_record(w, client, what == PURGE ? "MLP1" :
		    what == STREAM ? "MLS1" : "MLB1", what == HALVES, p, n);
	if (what == SEAL)
		w->now_ns += SPAN_NS * (n > 0 ? 1 + p[0] : 1);
	if (what == SEAL)
		need(store_tick(w->d.store, w->now_ns));
	purger_tick(w->d.purger, w->d.intake);
	serve(w);
}

static void
world_open(struct world *w)
{
	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "%s/fuzz-intake-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (mkdtemp(w->dir) == NULL)
		abort();
	snprintf(w->socket, sizeof(w->socket), "%s/socket", w->dir);
	snprintf(w->store, sizeof(w->store), "%s/store", w->dir);
	need(config_load(&w->config, NULL));
	free(w->config.socket_path);
	w->config.socket_path = strdup(w->socket);
	w->config.retain_ns = w->config.retain_fine_ns = 0;
	w->d.config = &w->config;
	w->d.slots.slot_ns = SLOT_NS;
	need(loop_new(&w->d.loop));
	need(store_writer_open(&w->d.store, w->store, &(struct store_options){
	    .slot_ns = SLOT_NS, .no_thread = true}));
	need(daemon_start_intake(&w->d));
	for (int i = 0; i < CLIENTS; i++)
		w->clients[i] = -1;
}

static void
problem(void *arg, const char *what, double share)
{
	(void)arg;
	(void)share;
	if (what != NULL)
		fprintf(stderr, "verify: %s\n", what);
}

static void
world_close(struct world *w)
{
	struct verify_report report = {0};
	char command[128];

	for (int i = 0; i < CLIENTS; i++)
		leave(&w->clients[i]);
	serve(w);
	need(store_writer_close(w->d.store));
	daemon_stop_intake(&w->d);
	loop_free(w->d.loop);
	need(store_verify(w->store, problem, NULL, &report));
	if (report.problems != 0)
		abort();
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	if (system(command) != 0)
		abort();
	config_free(&w->config);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct world w;

	log_init("fuzz_intake", LOG_L_ERR);
	world_open(&w);
	while (n > 0) {
		const uint8_t *cut = memmem(data, n, "\xfe\xfe", 2);
		size_t len = cut == NULL ? n : (size_t)(cut - data);

		if (len > 0)
			step(&w, data, len);
		data += cut == NULL ? len : len + 2;
		n -= cut == NULL ? len : len + 2;
	}
	world_close(&w);
	return 0;
}
