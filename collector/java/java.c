/*
 * memlens-java: has Java virtual machines write their maps of compiled code,
 * by which memlensd names it, and tells memlensd which do not, and why.  See
 * memlens-java.8.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/java/java_attach.h"
#include "collector/java/java_config.h"
#include "store/base/buf.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/base/pattern.h"
#include "store/base/text.h"
#include "store/batch/batch.h"
#include "store/batch/batch_client.h"

#define DEFAULT_CONFIG "/etc/memlens/memlens-java.conf"
#ifndef MEMLENS_VERSION
#define MEMLENS_VERSION "0.1.0"
#endif
#define MACHINES_MAX 64
#define LOOK_NS (5 * NS_PER_S)     /* for new ones */
#define COST_PART 200              /* a map costs at most this part of time */
#define WAIT_MAX_NS (3600 * NS_PER_S)
#define TELL_NS (600 * NS_PER_S)   /* the state is said again */
#define TELL_MAX 130               /* bytes of it, and no more machines then */
#define SEND_MS 2000

/* A process that was asked, until it is gone. */
struct machine {
	int pid;
	uint64_t started; /* of its stat, in ticks */
	char comm[20];
	bool seen, signalled;
	unsigned failures; /* in a row */
	int64_t due_ns;    /* monotonic */
	struct java_answer answer;
};

struct asker {
	struct java_config config;
	struct pattern *comm; /* NULL: nobody */
	struct machine machines[MACHINES_MAX];
	size_t n, left_out;
	struct buf told;
	int64_t told_ns;
	char complaint[200];
	int signals;
	bool once;
};

/* ---- which processes ---- */

/* The name, and the time of its start: field 22, behind the name. */
static bool
machine_read(int process, struct machine *m)
{
	char text[1024], *p, *end;
	int fd = openat(process, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strchr(text, '(');
	end = strrchr(text, ')');
	if (p == NULL || end == NULL || end < p)
		return false;
	snprintf(m->comm, sizeof(m->comm), "%.*s", (int)(end - p - 1), p + 1);
	text_clean(m->comm);
	for (int i = 0; i < 20 && end != NULL; i++)
		end = strchr(end + 1, ' ');
	m->started = end != NULL ? strtoull(end, NULL, 10) : 0;
	return end != NULL;
}

/* NULL when there is no room. */
static struct machine *
machine_get(struct asker *a, const struct machine *like)
{
	struct machine *m;

	for (size_t i = 0; i < a->n; i++)
		if (a->machines[i].pid == like->pid &&
		    a->machines[i].started == like->started)
			return &a->machines[i];
	if (a->n == MACHINES_MAX) {
		a->left_out++;
		return NULL;
	}
	m = &a->machines[a->n++];
	*m = *like;
	return m;
}

/* When it is asked next: less often when it fails, or takes long. */
static void
machine_plan(const struct asker *a, struct machine *m, int64_t took_ns)
{
	int64_t wait_ns = a->config.interval_ns;

	m->failures = m->answer.state == JAVA_FAILED ? m->failures + 1 : 0;
	for (unsigned i = 1; i < m->failures && wait_ns < WAIT_MAX_NS; i++)
		wait_ns *= 2;
	if (wait_ns < took_ns * COST_PART)
		wait_ns = took_ns * COST_PART;
	m->due_ns = clock_mono_ns() + wait_ns;
}

static void
machine_ask(struct asker *a, struct machine *m, int process, int pidfd)
{
	int64_t began_ns = clock_mono_ns();
	struct java_answer before = m->answer;
	struct java_ids ids;

	if (!java_ids_read(process, &ids))
		return;
	java_ask(process, pidfd, &ids, !m->signalled, a->config.deadline_ns,
	    &m->answer);
	m->signalled |= m->answer.signalled;
	machine_plan(a, m, clock_mono_ns() - began_ns);
	if (strcmp(before.why, m->answer.why) != 0 && !a->once)
		log_info("%s %d: %s", m->comm, m->pid,
		    m->answer.why[0] != '\0' ? m->answer.why : "named");
}

/* Looks at one process.  The descriptors stand for it even when its number is
 * used again; what was read before they were open is read again. */
static void
asker_look(struct asker *a, int proc, int pid)
{
	struct machine like = {.pid = pid}, *m;
	char name[16];
	int process, pidfd;

	snprintf(name, sizeof(name), "%d", pid);
	process = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		return;
	if (machine_read(process, &like) && pattern_match(a->comm, like.comm) &&
	    (m = machine_get(a, &like)) != NULL) {
		m->seen = true;
		pidfd = m->due_ns > clock_mono_ns() ? -1 :
		    (int)syscall(SYS_pidfd_open, pid, 0);
		if (pidfd >= 0 && machine_read(process, &like))
			machine_ask(a, m, process, pidfd);
		if (pidfd >= 0)
			close(pidfd);
	}
	close(process);
}

static void
asker_round(struct asker *a)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	size_t kept = 0;

	if (d == NULL)
		return;
	a->left_out = 0;
	for (size_t i = 0; i < a->n; i++)
		a->machines[i].seen = false;
	while (a->comm != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			asker_look(a, dirfd(d), atoi(e->d_name));
	closedir(d);
	for (size_t i = 0; i < a->n; i++)
		if (a->machines[i].seen)
			a->machines[kept++] = a->machines[i];
	a->n = kept;
}

/* ---- what is told ---- */

/* The state of the source "java", as a fact says it. */
static void
asker_state(const struct asker *a, bool stop, struct buf *out)
{
	struct buf list = {0}, why = {0};
	size_t faults = 0;

	for (size_t i = 0; i < a->n; i++) {
		const struct machine *m = &a->machines[i];

		if (m->answer.state == JAVA_OK)
			continue;
		if (faults++ == 0 || list.len < TELL_MAX)
			buf_printf(&list, "%s%s %d: %s", faults > 1 ? ", " : "",
			    m->comm, m->pid, m->answer.why);
	}
	if (faults > 0)
		buf_printf(&why, "%zu of %zu: %.*s", faults, a->n,
		    (int)list.len, (const char *)list.data);
	if (a->left_out > 0)
		buf_printf(&why, "%smore than %d processes",
		    faults > 0 ? "; " : "", MACHINES_MAX);
	fact_put_source(out, &(struct fact_source){
	    fact_part_of(stop || a->comm == NULL ? "off" :
	    why.len > 0 ? "degraded" : "attached"),
	    {why.len > 0 ? (const char *)why.data : "", why.len}});
	buf_fini(&list);
	buf_fini(&why);
}

static const struct err *
asker_send(const struct asker *a, const struct buf *state)
{
	struct batch *b = batch_new((uint64_t)a->config.slot_ns);
	struct batch_client *client = NULL;
	const struct err *e = b == NULL ? err_nomem() : NULL;

	if (e == NULL) {
		batch_add_fact(b, clock_wall_ns(), FACT_SOURCE, "java",
		    state->data, state->len);
		e = batch_client_open(&client, a->config.socket_path, SEND_MS);
	}
	if (e == NULL)
		e = batch_client_batch(client, b);
	batch_client_close(client);
	batch_free(b);
	return e;
}

/* What could not be said is said in the next round. */
static void
asker_tell(struct asker *a, bool stop)
{
	struct buf state = {0};
	const struct err *e;
	bool same;

	asker_state(a, stop, &state);
	same = state.len == a->told.len &&
	    memcmp(state.data, a->told.data, state.len) == 0;
	if (state.failed || (same &&
	    clock_mono_ns() - a->told_ns < TELL_NS)) {
		buf_fini(&state);
		return;
	}
	e = asker_send(a, &state);
	if (e != NULL) {
		if (strcmp(a->complaint, e->text) != 0)
			log_warn("memlensd: %s", e->text);
		snprintf(a->complaint, sizeof(a->complaint), "%s", e->text);
		buf_fini(&state);
		return;
	}
	a->complaint[0] = '\0';
	buf_fini(&a->told);
	a->told = state;
	a->told_ns = clock_mono_ns();
}

static void
asker_print(const struct asker *a)
{
	for (size_t i = 0; i < a->n; i++)
		printf("%d %s: %s\n", a->machines[i].pid, a->machines[i].comm,
		    a->machines[i].answer.state == JAVA_OK ? "named" :
		    a->machines[i].answer.why);
}

/* ---- start ---- */

static const struct err *
asker_start(struct asker *a)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signals < 0)
		return err_errno("signalfd");
	if (a->config.comm == NULL || a->config.comm[0] == '\0')
		return NULL;
	return pattern_new(&a->comm, "comm", a->config.comm, 0);
}

static void
asker_run(struct asker *a)
{
	struct pollfd p = {.fd = a->signals, .events = POLLIN};

	do {
		asker_round(a);
		asker_tell(a, false);
	} while (poll(&p, 1, (int)(LOOK_NS / NS_PER_MS)) == 0);
	asker_tell(a, true);
}

static void
usage(FILE *out)
{
	fputs("usage: memlens-java [-1hnVv] [-f FILE]\n"
	    "\n"
	    "  -1, --once          ask each once, and print what it said\n"
	    "  -f, --config FILE   read FILE, not " DEFAULT_CONFIG "\n"
	    "  -n, --check         check the configuration and exit\n"
	    "  -v, --verbose       say more\n"
	    "  -h, --help          this\n"
	    "  -V, --version       the version\n"
	    "\n"
	    "EXAMPLES\n"
	    "  memlens-java -1 -f memlens-java.conf\n", out);
}

static const struct option long_options[] = {
    {"once", no_argument, NULL, '1'},
    {"config", required_argument, NULL, 'f'},
    {"check", no_argument, NULL, 'n'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Fills what the options say; exits by itself for -h, -V and mistakes. */
static const char *
parse_arguments(int argc, char **argv, struct asker *a, bool *check_only)
{
	enum log_level level = LOG_L_INFO;
	const char *path = DEFAULT_CONFIG;
	int c;

	while ((c = getopt_long(argc, argv, "1f:nvhV", long_options, NULL)) !=
	    -1) {
		switch (c) {
		case '1': a->once = true; break;
		case 'f': path = optarg; break;
		case 'n': *check_only = true; break;
		case 'v': level = LOG_L_DEBUG; break;
		case 'h': usage(stdout); exit(0);
		case 'V': puts("memlens-java " MEMLENS_VERSION); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
	log_init("memlens-java", level);
	return path;
}

int
main(int argc, char **argv)
{
	static struct asker a = {.signals = -1};
	bool check_only = false;
	const char *path = parse_arguments(argc, argv, &a, &check_only);
	const struct err *e = java_config_load(&a.config, path);

	if (e == NULL && check_only) {
		puts("configuration OK");
	} else if (e == NULL && (e = asker_start(&a)) == NULL) {
		if (a.once) {
			asker_round(&a);
			asker_print(&a);
		} else {
			asker_run(&a);
		}
	}
	if (e != NULL)
		log_err("%s", e->text);
	buf_fini(&a.told);
	pattern_free(a.comm);
	java_config_free(&a.config);
	return e != NULL;
}
