/*
 * The table of processes over a /proc that the test makes: names with
 * spaces and parentheses, rules, reuse of pids, exec, the bound on names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/process/pidstat.h"
#include "collector/process/services.h"
#include "collector/process/services_rules.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "store/batch/batch.h"
#include "tests/unit/collector/process/made_proc.h"
#include "tests/unit/test.h"

static void
add_rule(struct config *c, const char *name, const char *comm,
    const char *command, const char *cgroup)
{
	c->services[c->n_services++] = (struct config_service){strdup(name),
	    comm ? strdup(comm) : NULL, command ? strdup(command) : NULL,
	    cgroup ? strdup(cgroup) : NULL};
}

TEST(stat_lines)
{
	const char *text = "42 (a) b (c)) S 7 1 1 0 -1 4194560 11 0 3 0 70 30 "
	    "0 0 20 0 5 0 900 4096000 250 18446744073709551615 1 2 3 0 0 0\n";
	struct pidstat s;

	CHECK(pidstat_parse(text, strlen(text), &s));
	CHECK_STR(s.comm, "a) b (c)");
	CHECK_INT(s.state, 'S');
	CHECK_INT(s.parent, 7);
	CHECK_INT(s.minor_faults, 11);
	CHECK_INT(s.major_faults, 3);
	CHECK_INT(s.user_ticks, 70);
	CHECK_INT(s.system_ticks, 30);
	CHECK_INT(s.threads, 5);
	CHECK_INT(s.start_ticks, 900);
	CHECK_INT(s.virtual_bytes, 4096000);
	CHECK_INT(s.resident_pages, 250);
	CHECK(!s.kernel_thread);
	for (size_t n = 0; n < strlen(text) - 30; n++)
		CHECK(!pidstat_parse(text, n, &s));
	CHECK(!pidstat_parse("no", 2, &s));
	CHECK(!pidstat_parse(")( S 1", 6, &s));
}

/* A service was listed under a name by which no profile could be asked for:
 * the bytes of its name were no text, and only its profiles knew. */
TEST(names_that_are_no_text)
{
	char text[] =
	    "7 (z\xff\xc3(\n) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 "
	    "5 4096 1 1 1 1 1 0";
	struct pidstat s;

	CHECK(pidstat_parse(text, strlen(text), &s));
	CHECK_STR(s.comm, "z?" "?(?");
}

TEST(cgroup_paths)
{
	char two[] = "0::/system.slice/kv.service\n";
	char one[] = "9:memory:/a\n3:cpu:/\n1:name=systemd:/b\n0::/\n";
	char both[] = "9:memory:/a\n0::/c\n";
	char root[] = "0::/\n", broken[] = "nothing\n:\n", out[8];

	services_cgroup(two, out, sizeof(out));
	CHECK_STR(out, "/system");
	services_cgroup(one, out, sizeof(out));
	CHECK_STR(out, "/a");
	services_cgroup(both, out, sizeof(out));
	CHECK_STR(out, "/c");
	services_cgroup(root, out, sizeof(out));
	CHECK_STR(out, "");
	services_cgroup(broken, out, sizeof(out));
	CHECK_STR(out, "");
}

TEST(classes)
{
	struct services *s = NULL;
	struct process *p;
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	add_rule(&c, "replica", "^kv$", "/opt/kv", NULL);
	add_rule(&c, "grouped", NULL, NULL, "kv[.]slice");
	put_stat(10, "kv", 0, 100, 1);
	put_exe(10, "/opt/kv");
	put_stat(11, "kv", 0, 100, 1);
	put_exe(11, "/usr/bin/kv");
	put_stat(12, "other", 0, 100, 1);
	put_file(12, "cgroup", "0::/kv.slice/x\n");
	put_stat(13, "kworker/u4:1-ext4", 0x00200000, 100, 0);
	put_stat(14, "tab\there\n", 0, 100, 1);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 1000));
	CHECK_STR(services_process(s, 10, 0)->read->service, "replica");
	CHECK_STR(services_process(s, 10, 0)->read->command, "kv /opt/kv");
	CHECK_STR(services_process(s, 11, 0)->read->service, "kv");
	CHECK_STR(services_process(s, 12, 0)->read->service, "grouped");
	CHECK_STR(services_process(s, 12, 0)->read->cgroup, "/kv.slice/x");
	p = services_process(s, 13, 0);
	CHECK_STR(p->read->service, "kernel");
	CHECK_STR(p->read->comm, "kworker/u4:1-ex");
	CHECK(p->read->kernel_thread);
	CHECK_STR(services_process(s, 14, 0)->read->comm, "tab?here?");
	CHECK(services_process(s, 99, 0) == NULL);
	services_free(s);
	c.every_process = false;
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_STR(services_process(s, 11, 0)->read->service, SERVICES_OTHER);
	services_free(s);
	config_free(&c);
	for (int pid = 10; pid < 15; pid++)
		remove_process(pid);
}

static const char *
service_of(struct services *s, int pid)
{
	const struct process *p = services_look(s, pid);

	return p == NULL ? "gone" : p->read->service;
}

/* A build is make's, and not that of each tool that it runs. */
TEST(short_lived_are_their_parents)
{
	long now = (long)(clock_boot_ns() / 10000000);
	struct services *s = NULL;
	const struct process *make;
	struct config c;
	char name[64];

	CHECK_OK(config_load(&c, NULL));
	add_rule(&c, "db", "^db$", NULL, NULL);
	c.short_lived_ns = INT64_C(3600000000000);
	put_born(1, 0, "init", 100);
	put_born(20, 1, "make", 100);
	put_born(21, 22, "cc1", now); /* read before its parent */
	put_born(22, 20, "sh", now);
	put_born(23, 1, "daemon", now);
	put_born(24, 20, "db", now);
	put_born(25, 24, "gzip", now);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_STR(service_of(s, 21), "make");
	CHECK_STR(service_of(s, 20), "make");
	CHECK_OK(services_sweep(s, 1000));
	CHECK_STR(service_of(s, 22), "make");
	CHECK_STR(service_of(s, 23), "daemon");
	CHECK_STR(service_of(s, 24), "db");
	CHECK_STR(service_of(s, 25), "db");
	CHECK(!services_known(s, 25)->read->ruled);
	make = services_known(s, 20);
	services_name(s, "ld", "", "", make, name, sizeof(name));
	CHECK_STR(name, "make");
	services_name(s, "db", "", "", make, name, sizeof(name));
	CHECK_STR(name, "db");
	services_name(s, "ld", "", "", NULL, name, sizeof(name));
	CHECK_STR(name, "ld");

	/* Old enough, it is a service, and its like are, too. */
	c.short_lived_ns = 1;
	CHECK_STR(service_of(s, 21), "cc1");
	c.short_lived_ns = INT64_C(3600000000000);
	put_born(26, 22, "cc1", now);
	CHECK_STR(service_of(s, 26), "cc1");
	CHECK_STR(service_of(s, 22), "make");
	services_free(s);
	config_free(&c);
	remove_process(1);
	for (int pid = 20; pid < 27; pid++)
		remove_process(pid);
}

static const char *
instance_of(struct services *s, int pid)
{
	const struct process *p = services_known(s, pid);

	return p == NULL ? "gone" : p->read->instance;
}

/* Three databases of one rule were one number. */
TEST(instances_of_a_service)
{
	struct services *s = NULL;
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	add_rule(&c, "db", "^db$", NULL, NULL);
	put_stat(10, "db", 0, 100, 1);
	put_listener(10, 6379, 555);
	put_stat(11, "db", 0, 100, 1);
	put_listener(11, 6380, 556);
	put_child(9, 11, "db"); /* before its parent in every walk */
	put_stat(12, "db", 0, 100, 1);
	put_file(12, "cmdline", "db one");
	put_stat(13, "db", 0, 100, 1);
	put_file(13, "cmdline", "db two");
	put_stat(14, "other", 0, 100, 1);
	put_listener(14, 80, 557);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 1000));
	CHECK_STR(instance_of(s, 10), ":6379");
	CHECK_STR(instance_of(s, 11), ":6380");
	CHECK_STR(instance_of(s, 9), ":6380");
	CHECK_STR(instance_of(s, 12), "#1");
	CHECK_STR(instance_of(s, 13), "#2");
	CHECK_STR(instance_of(s, 14), ""); /* no rule */

	/* All start again, in another order; one listens later. */
	for (int pid = 9; pid < 14; pid++) {
		remove_listener(pid);
		remove_process(pid);
	}
	CHECK_OK(services_sweep(s, 2000));
	put_stat(21, "db", 0, 200, 1);
	put_file(21, "cmdline", "db two");
	put_stat(22, "db", 0, 200, 1);
	put_file(22, "cmdline", "db one");
	put_stat(23, "db", 0, 200, 1);
	CHECK_OK(services_sweep(s, 3000));
	CHECK_STR(instance_of(s, 21), "#2");
	CHECK_STR(instance_of(s, 22), "#1");
	CHECK_STR(instance_of(s, 23), "#3");
	put_child(20, 23, "db"); /* its parent is another by and by */
	CHECK_OK(services_sweep(s, 3500));
	CHECK_STR(instance_of(s, 20), "#3");
	put_listener(23, 6379, 600);
	for (int i = 4; i < 12; i++)
		CHECK_OK(services_sweep(s, i * 1000));
	CHECK_STR(instance_of(s, 23), ":6379");
	CHECK_OK(services_sweep(s, 13000));
	CHECK_STR(instance_of(s, 20), ":6379");
	services_free(s);
	config_free(&c);
	for (int pid = 14; pid < 24; pid++) {
		remove_listener(pid);
		remove_process(pid);
	}
}

TEST(bound_on_instances)
{
	struct services *s = NULL;
	struct config c;
	int other = 0;

	CHECK_OK(config_load(&c, NULL));
	add_rule(&c, "db", "^db$", NULL, NULL);
	for (int pid = 10; pid < 50; pid++)
		put_stat(pid, "db", 0, 100, 1);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 1000));
	for (int pid = 10; pid < 50; pid++)
		other += strcmp(instance_of(s, pid), "(other)") == 0;
	CHECK_INT(other, 8);
	services_free(s);
	config_free(&c);
	for (int pid = 10; pid < 50; pid++)
		remove_process(pid);
}

/* A pid that is used again is another process; the start time tells. */
TEST(reuse)
{
	struct services *s = NULL;
	struct process *p;
	struct config c;
	uint64_t serial;

	CHECK_OK(config_load(&c, NULL));
	put_stat(20, "first", 0, 500, 1);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 0));
	p = services_process(s, 20, 5004567890);
	CHECK(p != NULL);
	if (p != NULL)
		CHECK_STR(p->read->service, "first");
	serial = p->read->serial;
	CHECK(services_process(s, 20, 7000000000) == NULL);
	put_stat(20, "second", 0, 700, 1);
	p = services_process(s, 20, 7000000000);
	CHECK(p != NULL && strcmp(p->read->service, "second") == 0);
	CHECK(p != NULL && p->read->serial != serial);
	/* a sample that comes late of one before it is no reason to begin
	 * anew with the one that lives */
	serial = p != NULL ? p->read->serial : 0;
	CHECK(services_process(s, 20, 4000000000) == NULL);
	CHECK(services_known(s, 20) == p && p != NULL &&
	    p->read->serial == serial);
	/* the one that is gone is still known for a while */
	p = services_process(s, 20, 5000000000);
	CHECK(p != NULL && p->gone && strcmp(p->read->service, "first") == 0);
	remove_process(20);
	services_free(s);
	config_free(&c);
}

static void
count_one(void *arg, struct process *p)
{
	(void)p;
	++*(int *)arg;
}

static int
count(struct services *s)
{
	int n = 0;

	services_each(s, count_one, &n);
	return n;
}

TEST(exec_and_exit)
{
	int64_t second = 1000000000, now = 1795000000 * second;
	struct services *s = NULL;
	struct services_stats stats;
	struct process *p;
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	put_stat(30, "bash", 0, 500, 1);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, now));
	CHECK_STR(services_process(s, 30, 0)->read->service, "bash");
	put_stat(30, "python3", 0, 500, 77);
	put_exe(30, "/usr/bin/python3");
	CHECK_OK(services_sweep(s, now + second));
	p = services_process(s, 30, 0);
	CHECK_STR(p->read->service, "python3");
	CHECK_STR(p->read->command, "python3 /usr/bin/python3");
	CHECK_INT(count(s), 1);
	remove_process(30);
	CHECK_OK(services_sweep(s, now + 2 * second));
	CHECK_INT(count(s), 0);
	p = services_process(s, 30, 5000000000);
	CHECK(p != NULL && p->gone);
	CHECK_OK(services_sweep(s, now + 11 * second));
	CHECK(services_process(s, 30, 5000000000) != NULL);
	CHECK_OK(services_sweep(s, now + 13 * second));
	CHECK(services_process(s, 30, 5000000000) == NULL);
	services_stats(s, &stats);
	CHECK_INT(stats.processes, 0);
	CHECK_INT(stats.services, 0);
	services_free(s);
	config_free(&c);
}

/* A program whose first thread ended before anybody looked at it: it was that
 * of its parent, for good. */
TEST(first_thread_ends_behind_exec)
{
	int64_t second = 1000000000, now = 1795000000 * second;
	struct services *s = NULL;
	struct process_read *r;
	struct config c;
	char path[200];

	CHECK_OK(config_load(&c, NULL));
	put_stat(50, "bash", 0, 500, 1);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, now));
	put_file(50, "stat", "50 (db) Z 1 1 1 0 -1 0 11 0 3 0 70 30 0 0 20 0 "
	    "3 0 500 0 0 18446744073709551615 0 0 0 0 0 0\n");
	CHECK_OK(services_sweep(s, now + second)); /* nothing shows it */
	CHECK_STR(services_process(s, 50, 0)->read->service, "bash");
	snprintf(path, sizeof(path), "%s/50/task", proc);
	CHECK(mkdir(path, 0755) == 0);
	put_file(50, "task/51", "");
	put_file(51, "cgroup", "");
	put_exe(51, "/usr/bin/db");
	CHECK_OK(services_sweep(s, now + 2 * second));
	r = services_process(s, 50, 0)->read;
	CHECK_STR(r->service, "db");
	CHECK_STR(r->command, "db /usr/bin/db");
	services_free(s);
	config_free(&c);
	snprintf(path, sizeof(path), "%s/50/task/51", proc);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	remove_process(50);
	remove_process(51);
}

/* A process that does not run is read now and then, and when a slot
 * begins; one that is asked for is read in the next sweep. */
TEST(still_processes_wait)
{
	int64_t second = 1000000000, now = 1795000000 * second, i;
	struct services *s = NULL;
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	CHECK_INT(c.slot_ns, 10 * second);
	put_stat(40, "old", 0, 500, 1); /* 40 % 4: read in the 8th sweep */
	CHECK_OK(services_new_at(&s, &c, proc));
	for (i = 0; i < 5; i++)
		CHECK_OK(services_sweep(s, now + i * second));
	put_stat(40, "new", 0, 500, 77);
	for (; i < 7; i++)
		CHECK_OK(services_sweep(s, now + i * second));
	CHECK_STR(services_known(s, 40)->read->service, "old");
	CHECK_OK(services_sweep(s, now + i * second));
	CHECK_STR(services_known(s, 40)->read->service, "new");
	for (; i < 15; i++)
		CHECK_OK(services_sweep(s, now + 8 * second));
	put_stat(40, "slot", 0, 500, 78);
	CHECK_OK(services_sweep(s, now + 10 * second));
	CHECK_STR(services_known(s, 40)->read->service, "slot");
	for (i = 0; i < 8; i++)
		CHECK_OK(services_sweep(s, now + 11 * second));
	put_stat(40, "asked", 0, 500, 79);
	CHECK(services_process(s, 40, 0) != NULL);
	CHECK_OK(services_sweep(s, now + 11 * second));
	CHECK_STR(services_known(s, 40)->read->service, "asked");
	services_free(s);
	config_free(&c);
	remove_process(40);
}

/* Dead, and nobody has waited for it: known from the first look on. */
TEST(zombies)
{
	static const char z[] = "%d (z) Z 1 1 1 0 -1 0 11 0 3 0 70 30 0 0 20 0 "
	    "1 0 500 0 0 18446744073709551615 0 0 0 0 0 0 0 0\n";
	struct services *s = NULL;
	struct config c;
	char text[200];

	CHECK_OK(config_load(&c, NULL));
	put_stat(44, "z", 0, 500, 1);
	snprintf(text, sizeof(text), z, 45);
	put_file(45, "stat", text);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 0));
	CHECK(!services_known(s, 44)->read->zombie);
	CHECK(services_known(s, 45)->read->zombie);
	snprintf(text, sizeof(text), z, 44);
	put_file(44, "stat", text);
	CHECK_OK(services_sweep(s, 1000000000));
	CHECK(services_known(s, 44)->read->zombie);
	CHECK_STR(services_known(s, 44)->read->service, "z");
	services_free(s);
	config_free(&c);
	remove_process(44);
	remove_process(45);
}

/* 300 commands: 255 names and the rest in one. */
TEST(bound_on_names)
{
	struct services *s = NULL;
	struct services_stats stats;
	struct config c;
	int others = 0;

	CHECK_OK(config_load(&c, NULL));
	for (int i = 0; i < 300; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "c%d", i);
		put_stat(1000 + i, comm, 0, 100, 1);
	}
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 0));
	services_stats(s, &stats);
	CHECK_INT(stats.processes, 300);
	CHECK_INT(stats.services, SERVICES_MAX);
	CHECK_INT(stats.overflowed, 300 - (SERVICES_MAX - 1));
	for (int i = 0; i < 300; i++)
		others += strcmp(SERVICES_OTHER,
		    services_process(s, 1000 + i, 0)->read->service) == 0;
	CHECK_INT(others, 300 - (SERVICES_MAX - 1));
	for (int i = 0; i < 300; i++)
		remove_process(1000 + i);
	/* names are free again once their processes are forgotten */
	CHECK_OK(services_sweep(s, INT64_C(1000000000)));
	CHECK_OK(services_sweep(s, INT64_C(20000000000)));
	services_stats(s, &stats);
	CHECK_INT(stats.services, 0);
	services_free(s);
	config_free(&c);
}

TEST(facts)
{
	struct services *s = NULL;
	struct batch *b = batch_new(1000);
	struct config c;
	char text[200];
	const char *want = "(a b)\t/bin/x";

	CHECK_OK(config_load(&c, NULL));
	put_stat(40, "(a b)", 0, 500, 1);
	put_exe(40, "/bin/x");
	put_stat(41, "kthread", 0x00200000, 500, 0);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, 0));
	services_facts(s, b, 77, false);
	CHECK_INT(b->n_facts, 1);
	CHECK_INT(b->facts[0].kind, FACT_PROCESS);
	CHECK_INT(b->facts[0].time_ns, 77);
	CHECK_STR(batch_str(b, b->facts[0].subject), "(a b)");
	snprintf(text, sizeof(text), "%.*s", (int)b->facts[0].n,
	    (const char *)b->fact_bytes.data + b->facts[0].first);
	CHECK(strncmp(text, "40 ", 3) == 0);
	CHECK(strlen(text) > strlen(want) &&
	    strcmp(text + strlen(text) - strlen(want), want) == 0);
	services_facts(s, b, 78, false);
	CHECK_INT(b->n_facts, 1);
	services_facts(s, b, 79, true);
	CHECK_INT(b->n_facts, 2);
	batch_free(b);
	services_free(s);
	config_free(&c);
	remove_process(40);
	remove_process(41);
}

/* A build is not a list of its compilers. */
TEST(facts_of_short_lived_ones_are_few)
{
	long now = (long)(clock_boot_ns() / 10000000);
	struct batch *b = batch_new(1000);
	struct services *s = NULL;
	struct services_stats stats;
	struct config c;
	int pid;

	CHECK_OK(config_load(&c, NULL));
	add_rule(&c, "db", "^db$", NULL, NULL);
	c.short_lived_ns = clock_boot_ns() / 2; /* however long we run */
	put_born(1, 0, "init", 100);
	put_born(20, 1, "cc1", 100); /* a service of that name */
	for (pid = 100; pid < 150; pid++)
		put_born(pid, 20, "cc1", now);
	put_born(150, 20, "db", now);
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_OK(services_sweep(s, clock_wall_ns()));
	services_facts(s, b, 77, false);
	CHECK_INT(b->n_facts, 2 + 32 + 1);
	for (pid = 100; pid < 125; pid++)
		remove_process(pid);
	CHECK_OK(services_sweep(s, clock_wall_ns()));
	CHECK_OK(services_sweep(s, clock_wall_ns() + INT64_C(20000000000)));
	services_stats(s, &stats);
	CHECK(stats.untold <= 18); /* which of them, the table's order says */
	c.short_lived_ns = 1; /* grown old */
	services_facts(s, b, 78, false);
	CHECK_INT(b->n_facts + stats.untold, 2 + 50 + 1);
	batch_free(b);
	services_free(s);
	config_free(&c);
	remove_process(1);
	remove_process(20);
	for (pid = 125; pid <= 150; pid++)
		remove_process(pid);
}

TEST(arguments_only_when_asked)
{
	struct services *s = NULL;
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	put_stat(50, "db", 0, 500, 1);
	put_exe(50, "/bin/db");
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_STR(services_process(s, 50, 0)->read->command, "db /bin/db");
	services_free(s);
	put_file(50, "cmdline", "db --password secret");
	c.show_arguments = true;
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_STR(services_process(s, 50, 0)->read->command,
	    "db db --password secret");
	services_free(s);
	/* where it was begun from is not known to who reads it */
	put_file(50, "cmdline", "./build/db");
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_STR(services_process(s, 50, 0)->read->command, "db /bin/db");
	services_free(s);
	put_file(50, "cmdline", "db: writer"); /* a title of its own */
	CHECK_OK(services_new_at(&s, &c, proc));
	CHECK_STR(services_process(s, 50, 0)->read->command, "db db: writer");
	services_free(s);
	config_free(&c);
	remove_process(50);
}

/* 1,000 short processes a second are 10,000 entries in a slot. */
TEST(what_nobody_saw_is_small)
{
	struct services *s = NULL;
	struct services_stats stats;
	struct batch *b = batch_new(0);
	struct process *p;
	struct config c;
	int32_t pid;

	CHECK_OK(config_load(&c, NULL));
	CHECK_OK(services_new_at(&s, &c, proc));
	p = services_missed(s, 7, 1000000000);
	CHECK(p != NULL && p->gone && p->read == NULL);
	CHECK(sizeof(*p) <= 128);
	CHECK(services_missed(s, 7, 1000000000) == p);
	CHECK(services_last(s, 7) == NULL);
	CHECK(services_process(s, 7, 1000000000) == NULL);
	services_facts(s, b, 0, true);
	/* Seen after all: what the kernel told of it stays with it. */
	put_stat(7, "seven", 0, 100, 1);
	CHECK(services_process(s, 7, 1000000000) == p);
	CHECK(p->read != NULL && !p->gone);
	CHECK_STR(p->read->comm, "seven");
	for (pid = 100; pid < 100 + PROCESSES_MAX - 1; pid++)
		CHECK(services_missed(s, pid, 1000000000) != NULL);
	CHECK(services_missed(s, pid, 1000000000) == NULL);
	services_stats(s, &stats);
	CHECK_INT(stats.untracked, 1);
	CHECK_OK(services_sweep(s, clock_wall_ns() + INT64_C(20000000000)));
	CHECK(services_missed(s, pid, 1000000000) != NULL);
	remove_process(7);
	batch_free(b);
	services_free(s);
	config_free(&c);
}

TEST(the_real_proc)
{
	struct services *s = NULL;
	struct process *p;
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	CHECK_OK(services_new(&s, &c));
	CHECK_OK(services_sweep(s, 0));
	p = services_process(s, getpid(), 0);
	CHECK(p != NULL);
	if (p != NULL) {
		CHECK_STR(p->read->comm, "test_services");
		CHECK(strstr(p->read->command, "/test_services") != NULL);
		CHECK(!p->read->kernel_thread);
	}
	services_free(s);
	config_free(&c);
}

int
main(void)
{
	if (mkdtemp(proc) == NULL)
		return 1;
	RUN(stat_lines);
	RUN(names_that_are_no_text);
	RUN(cgroup_paths);
	RUN(classes);
	RUN(short_lived_are_their_parents);
	RUN(instances_of_a_service);
	RUN(bound_on_instances);
	RUN(reuse);
	RUN(exec_and_exit);
	RUN(first_thread_ends_behind_exec);
	RUN(still_processes_wait);
	RUN(zombies);
	RUN(bound_on_names);
	RUN(facts);
	RUN(facts_of_short_lived_ones_are_few);
	RUN(arguments_only_when_asked);
	RUN(what_nobody_saw_is_small);
	RUN(the_real_proc);
	rmdir(proc);
	return test_done();
}
