/*
 * memlens-scrape: pulls pages from the services that are watched, without
 * any privilege, and posts what they say to memlensd.  See memlens-scrape.8.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/scrape/scrape_config.h"
#include "collector/scrape/scrape_profile.h"
#include "collector/scrape/scrape_queue.h"
#include "collector/scrape/scrape_target.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/base/log.h"
#include "store/batch/batch.h"
#include "store/batch/meter.h"

#define DEFAULT_CONFIG "/etc/memlens/memlens-scrape.conf"
#ifndef MEMLENS_VERSION
#define MEMLENS_VERSION "0.1.0"
#endif
#define GRACE_MAX_NS (200 * NS_PER_MS)
#define FAR_SLOTS 64
#define TELL_SLOTS 64 /* the state is said again, as the daemon does */
#define TELL_MAX 190  /* bytes of it, and then no more targets, */
#define TELL_WHY 100  /* nor, from here on, why they do not answer; */
#define TELL_ONE 80   /* of each so many */

struct scraper {
	const char *path;
	struct scrape_config *config;
	struct scrape_target *targets;
	struct scrape_profiles profiles;
	struct http *http; /* of the targets */
	struct scrape_queue queue;
	struct meter *meter;
	struct scrape_counts counts;
	uint64_t slot; /* the open one */
	int64_t slot_ns;
	int signals;
	bool stop, reload;
	struct buf told;    /* the state that was said last */
	uint64_t lost;      /* batches that had not arrived then */
	uint64_t told_slot;
};

/* ---- slots ---- */

static void
scrape_put_self(struct scraper *s, int64_t now_ns)
{
	const struct {
		const char *name;
		enum series_kind kind;
		uint64_t value;
	} own[] = {
	    {"memlens_scrape_queued_batches", SERIES_GAUGE, s->queue.n},
	    {"memlens_scrape_sent_batches_total", SERIES_COUNTER,
	        s->queue.sent},
	    {"memlens_scrape_dropped_batches_total", SERIES_COUNTER,
	        s->queue.dropped},
	    {"memlens_scrape_refused_batches_total", SERIES_COUNTER,
	        s->queue.refused},
	    {"memlens_scrape_values_total", SERIES_COUNTER, s->counts.taken},
	    {"memlens_scrape_nan_total", SERIES_COUNTER, s->counts.no_data},
	    {"memlens_scrape_refused_values_total", SERIES_COUNTER,
	        s->counts.refused},
	    {"memlens_scrape_bad_lines_total", SERIES_COUNTER,
	        s->counts.bad},
	    {"memlens_scrape_profiles_total", SERIES_COUNTER,
	        s->profiles.taken},
	    {"memlens_scrape_refused_profiles_total", SERIES_COUNTER,
	        s->profiles.refused},
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		struct series_desc d = {own[i].kind, own[i].name, "", 0, 0,
		    NULL, 0};

		if (own[i].kind == SERIES_COUNTER)
			meter_counter(s->meter, &d, now_ns,
			    (int64_t)own[i].value);
		else
			meter_gauge(s->meter, &d, now_ns,
			    (int64_t)own[i].value);
	}
}

/* A mark when a target falls silent, and when it answers again. */
static void
scrape_mark(struct scrape_target *t, bool down, const struct buf *why,
    int64_t time_ns, struct batch *b)
{
	struct buf text = {0};

	if (down == t->down)
		return;
	t->down = down;
	buf_printf(&text, "%s", t->name);
	if (down)
		buf_printf(&text, ": %.*s", (int)(why->len < TELL_ONE
		    ? why->len : TELL_ONE), (const char *)why->data);
	buf_printf(&text, "\t%s", t->service);
	if (!text.failed)
		batch_add_fact(b, time_ns, FACT_MARK, down ? "target-down" :
		    "target-up", text.data, text.len);
	buf_fini(&text);
}

/* Which targets do not answer, and why; none: nothing. */
static void
scrape_find_faults(struct scraper *s, int64_t since_ns, struct batch *b,
    struct buf *out)
{
	struct buf one = {0};
	size_t faults = 0, more = 0, n = s->config->n_targets;
	struct buf list = {0};

	for (size_t i = 0; i < n; i++) {
		struct scrape_target *t = &s->targets[i];
		bool told, down;

		buf_clear(&one);
		told = scrape_target_tell(t, since_ns, &one);
		down = scrape_profiles_tell(&s->profiles,
		    &s->config->targets[i], told, &one) || told;
		scrape_mark(t, down, &one, since_ns, b);
		if (!down)
			continue;
		if (list.len > TELL_MAX) {
			more++;
			continue;
		}
		buf_printf(&list, "%s%s", faults++ > 0 ? ", " : "", t->name);
		if (list.len < TELL_WHY)
			buf_printf(&list, " (%.*s)", (int)(one.len < TELL_ONE
			    ? one.len : TELL_ONE), (const char *)one.data);
	}
	if (faults > 0)
		buf_printf(out, "no answer from %zu of %zu targets: %.*s",
		    faults + more, n, (int)list.len, (const char *)list.data);
	if (more > 0)
		buf_printf(out, " and %zu more", more);
	buf_fini(&one);
	buf_fini(&list);
}

/* The scraper is a source of the store as the daemon's are: what its state is
 * is said when it changes, now and then, and when a batch was lost. */
static void
scrape_tell(struct scraper *s, struct batch *b, uint64_t slot)
{
	int64_t start_ns = (int64_t)slot * s->slot_ns;
	uint64_t lost = s->queue.dropped + s->queue.refused;
	struct buf why = {0}, text = {0};
	const char *state = "off";
	bool same;

	if (!s->stop && s->config->n_targets > 0) {
		scrape_find_faults(s, start_ns, b, &why);
		state = why.len > 0 ? "degraded" : "attached";
	}
	fact_put_source(&text, &(struct fact_source){fact_part_of(state),
	    {why.len > 0 ? (const char *)why.data : "", why.len}});
	buf_fini(&why);
	same = text.len == s->told.len &&
	    memcmp(text.data, s->told.data, text.len) == 0;
	if (text.failed || (same && lost == s->lost &&
	    slot - s->told_slot < TELL_SLOTS)) {
		buf_fini(&text);
		return;
	}
	batch_add_fact(b, start_ns, FACT_SOURCE, "scrape", text.data,
	    text.len);
	buf_fini(&s->told);
	s->told = text;
	s->told_slot = slot;
	s->lost = lost;
}

static void
scrape_close_slot(struct scraper *s, uint64_t slot)
{
	struct batch *b = batch_new((uint64_t)s->slot_ns);
	int64_t last_ns = (int64_t)(slot + 1) * s->slot_ns - 1;
	int64_t now_ns = clock_wall_ns();

	if (b == NULL) {
		s->queue.dropped++;
		return;
	}
	scrape_put_self(s, now_ns < last_ns ? now_ns : last_ns);
	scrape_tell(s, b, slot);
	meter_close(s->meter, slot, b);
	if (b->n_blocks > 0)
		scrape_queue_put(&s->queue, b);
	batch_free(b);
}

/* Closes what is over; a far jump of the clock is followed. */
static void
scrape_slots(struct scraper *s, int64_t wall_ns)
{
	int64_t grace_ns = s->slot_ns / 4;
	uint64_t over, present = (uint64_t)(wall_ns / s->slot_ns);

	if (grace_ns > GRACE_MAX_NS)
		grace_ns = GRACE_MAX_NS;
	over = (uint64_t)((wall_ns - grace_ns) / s->slot_ns);
	if (over > s->slot + FAR_SLOTS || present + FAR_SLOTS < s->slot) {
		scrape_close_slot(s, s->slot);
		s->slot = present;
	}
	while (s->slot < over)
		scrape_close_slot(s, s->slot++);
}

/* ---- targets ---- */

static void
scrape_free_targets(struct scraper *s)
{
	if (s->config == NULL)
		return;
	for (size_t i = 0; i < s->config->n_targets; i++)
		scrape_target_fini(&s->targets[i]);
	free(s->targets);
	scrape_profiles_fini(&s->profiles);
	http_free(s->http);
	scrape_config_free(s->config);
	free(s->config);
}

/* Targets by a configuration that is good: they replace those at hand. */
static const struct err *
scrape_take_config(struct scraper *s, struct scrape_config *c)
{
	struct scrape_profiles profiles;
	struct scrape_target *t;
	struct http *http = NULL;
	const struct err *e;

	if (s->config != NULL && s->slot_ns != c->slot_ns)
		return err_new(ERR_CONFIG, 0, "slot: takes effect at the next "
		    "start only");
	if ((t = calloc(c->n_targets + 1, sizeof(*t))) == NULL)
		return err_nomem();
	if ((e = http_new(&http, "memlens-scrape", c->ca)) != NULL ||
	    (e = scrape_profiles_init(&profiles, c, http)) != NULL) {
		http_free(http);
		free(t);
		return e;
	}
	for (size_t i = 0; i < c->n_targets; i++)
		scrape_target_init(&t[i], c, &c->targets[i], http,
		    clock_mono_ns());
	if (s->config != NULL)
		scrape_profiles_follow(&profiles, &s->profiles);
	scrape_free_targets(s);
	s->config = c;
	s->targets = t;
	s->profiles = profiles;
	s->http = http;
	s->queue.path = c->socket_path;
	return NULL;
}

/* Reads the configuration; on success it replaces the one at hand. */
static const struct err *
scrape_load(struct scraper *s)
{
	struct scrape_config *c = calloc(1, sizeof(*c));
	const struct err *e;

	if (c == NULL)
		return err_nomem();
	if ((e = scrape_config_load(c, s->path)) == NULL &&
	    (e = scrape_take_config(s, c)) != NULL)
		scrape_config_free(c);
	if (e != NULL)
		free(c);
	return e;
}

/* ---- the loop ---- */

static void
scrape_signals(struct scraper *s)
{
	struct signalfd_siginfo info;
	const struct err *e;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		s->stop |= info.ssi_signo != SIGHUP;
		s->reload |= info.ssi_signo == SIGHUP;
	}
	if (!s->reload)
		return;
	s->reload = false;
	if ((e = scrape_load(s)) != NULL)
		log_err("%s; the old configuration stays", e->text);
	else
		log_info("configuration reloaded");
}

/* How long it may wait for answers, in ms. */
static int
scrape_wait_ms(const struct scraper *s, int64_t mono_ns)
{
	int64_t until_ns = mono_ns + 250 * NS_PER_MS;

	for (size_t i = 0; i < s->config->n_targets; i++) {
		int64_t due_ns = scrape_target_due_ns(&s->targets[i]);

		if (due_ns < until_ns)
			until_ns = due_ns;
	}
	return until_ns <= mono_ns ? 0 :
	    (int)((until_ns - mono_ns + NS_PER_MS - 1) / NS_PER_MS);
}

static void
scrape_run(struct scraper *s)
{
	while (!s->stop) {
		int64_t wall_ns = clock_wall_ns(), mono_ns = clock_mono_ns();

		for (size_t i = 0; i < s->config->n_targets; i++)
			scrape_target_step(&s->targets[i], s->meter,
			    &s->counts, wall_ns, mono_ns);
		scrape_profiles_step(&s->profiles, s->meter, &s->queue,
		    wall_ns);
		scrape_slots(s, wall_ns);
		scrape_queue_send(&s->queue, mono_ns);
		http_wait(s->http, s->signals,
		    scrape_wait_ms(s, clock_mono_ns()));
		scrape_signals(s);
	}
	scrape_close_slot(s, s->slot);
	s->queue.retry_ns = 0;
	scrape_queue_send(&s->queue, clock_mono_ns());
	if (s->queue.n > 0)
		log_warn("%zu batches were not delivered", s->queue.n);
}

/* ---- start ---- */

/* Rights are of no use here; whoever started us as root loses them too. */
static void
scrape_drop_rights(void)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2] = {{0}};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capset, &h, d) != 0)
		log_warn("capset: %s", strerror(errno));
}

static const struct err *
scrape_start(struct scraper *s)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return err_errno("signalfd");
	scrape_drop_rights();
	s->slot_ns = s->config->slot_ns;
	s->slot = (uint64_t)(clock_wall_ns() / s->slot_ns);
	s->meter = meter_new((uint64_t)s->slot_ns);
	if (s->meter == NULL)
		return err_nomem();
	log_info("%zu targets, to %s", s->config->n_targets,
	    s->config->socket_path);
	return NULL;
}

static void
usage(FILE *out)
{
	fputs("usage: memlens-scrape [-hnVv] [-f FILE]\n"
	    "\n"
	    "  -f, --config FILE   read FILE, not " DEFAULT_CONFIG "\n"
	    "  -n, --check         check the configuration and exit\n"
	    "  -v, --verbose       say more\n"
	    "  -h, --help          this\n"
	    "  -V, --version       the version\n"
	    "\n"
	    "EXAMPLES\n"
	    "  memlens-scrape -n -f memlens-scrape.conf\n", out);
}

static const struct option long_options[] = {
    {"config", required_argument, NULL, 'f'},
    {"check", no_argument, NULL, 'n'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* Fills what the options say; exits by itself for -h, -V and mistakes. */
static void
parse_arguments(int argc, char **argv, struct scraper *s, bool *check_only)
{
	enum log_level level = LOG_L_INFO;
	int c;

	s->path = DEFAULT_CONFIG;
	while ((c = getopt_long(argc, argv, "f:nvhV", long_options, NULL)) !=
	    -1) {
		switch (c) {
		case 'f': s->path = optarg; break;
		case 'n': *check_only = true; break;
		case 'v': level = LOG_L_DEBUG; break;
		case 'h': usage(stdout); exit(0);
		case 'V': puts("memlens-scrape " MEMLENS_VERSION); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
	log_init("memlens-scrape", level);
}

int
main(int argc, char **argv)
{
	struct scraper s = {.signals = -1};
	const struct err *e;
	bool check_only = false;

	parse_arguments(argc, argv, &s, &check_only);
	e = scrape_load(&s);
	if (e == NULL && check_only)
		puts("configuration OK");
	else if (e == NULL && (e = scrape_start(&s)) == NULL)
		scrape_run(&s);
	if (e != NULL)
		log_err("%s", e->text);
	scrape_queue_fini(&s.queue);
	buf_fini(&s.told);
	meter_free(s.meter);
	scrape_free_targets(&s);
	return e != NULL;
}
