/*
 * Processes, and numbers of instances, over a reload of the configuration, over
 * a /proc that the test makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/process/services.h"
#include "collector/process/services_rules.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static char proc[] = "/tmp/memlens-test-proc-XXXXXX";

static void
put_file(int pid, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static void
put_stat(int pid, const char *comm)
{
	char text[600];

	snprintf(text, sizeof(text), "%d (%s) S 1 1 1 0 -1 0 11 0 3 0 70 30 "
	    "0 0 20 0 5 0 100 4096000 250 18446744073709551615 1 2 3 0 0 0 "
	    "0 0\n", pid, comm);
	put_file(pid, "stat", text);
}

static void
put_process(int pid, const char *arguments)
{
	char text[600];

	snprintf(text, sizeof(text), "%s/%d", proc, pid);
	CHECK_INT(mkdir(text, 0755), 0);
	put_stat(pid, "db");
	put_file(pid, "cmdline", arguments);
}

static void
put_listener(int pid)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%d/net", proc, pid);
	CHECK_INT(mkdir(path, 0755), 0);
	put_file(pid, "net/tcp", "  sl  local_address rem_address   st\n"
	    "   0: 0100007F:18F6 00000000:0000 0A 00000000:00000000 "
	    "00:00000000 00000000     0        0 555 1 0 100 0 0 10 0\n");
	snprintf(path, sizeof(path), "%s/%d/fd", proc, pid);
	CHECK_INT(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/%d/fd/3", proc, pid);
	CHECK_INT(symlink("socket:[555]", path), 0);
}

static void
remove_process(int pid)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -r %s/%d", proc, pid);
	CHECK_INT(system(command), 0);
}

static const char *
instance_of(struct services *s, int pid)
{
	const struct process *p = services_known(s, pid);

	return p == NULL ? "gone" : p->read->instance;
}

static struct services *
started(const struct config *c)
{
	struct services *s = NULL;

	CHECK_OK(services_new_at(&s, c, proc));
	return s;
}

/* Reads its rules, as a file would have them. */
static struct config *
with_rules(const char *rules)
{
	struct config *c = calloc(1, sizeof(*c));
	char path[200];

	put_file(0, "conf", rules);
	snprintf(path, sizeof(path), "%s/0/conf", proc);
	CHECK_OK(config_load(c, path));
	return c;
}

static void
drop_config(struct config *c)
{
	config_free(c);
	free(c);
}

/* What a reload does to the table. */
static void
reload(struct services *s, const struct config *c)
{
	struct services_rules *rules;

	CHECK_OK(services_rules_new(&rules, c));
	services_reload(s, c, rules);
	CHECK_OK(services_sweep(s, 9000));
}

/* The second of two was the first after a reload, where that had died; and
 * two of the same arguments were told by their order. */
TEST(a_reload_keeps_numbers)
{
	struct config *c = with_rules("[service db]\ncomm = ^db$\n");
	struct services *s;

	put_process(33, "db one");
	s = started(c);
	CHECK_OK(services_sweep(s, 1000));
	put_process(32, "db two");
	CHECK_OK(services_sweep(s, 1000));
	put_process(31, "db two");
	CHECK_OK(services_sweep(s, 1000));
	CHECK_STR(instance_of(s, 33), "#1");
	CHECK_STR(instance_of(s, 32), "#2");
	CHECK_STR(instance_of(s, 31), "#3");
	remove_process(33);
	CHECK_OK(services_sweep(s, 2000));
	put_listener(31); /* it has its number beside the port */
	reload(s, c);
	CHECK_STR(instance_of(s, 32), "#2");
	CHECK_STR(instance_of(s, 31), ":6390");
	CHECK_INT(services_known(s, 31)->read->number, 3);
	put_process(34, "db four");
	reload(s, c);
	CHECK_STR(instance_of(s, 32), "#2");
	CHECK_STR(instance_of(s, 34), "#4"); /* the others are held */
	put_process(35, "db one");
	reload(s, c);
	CHECK_STR(instance_of(s, 35), "#1"); /* it has come back */
	services_free(s);
	drop_config(c);
	remove_process(32);
	remove_process(31);
	remove_process(34);
	remove_process(35);
}

static const char *
service_of(struct services *s, int pid)
{
	const struct process *p = services_known(s, pid);

	return p == NULL ? "gone" : p->read->service;
}

/* Entries stay, with all that others keep there; names are those of the rules
 * of now, and a rule's configuration is not needed when it is gone. */
TEST(a_reload_keeps_processes)
{
	struct config *before = with_rules("[service db]\ncomm = ^db$\n"),
	    *c = with_rules("[service base]\ncomm = ^db$\n"), *no;
	struct services *s;
	const struct process *p;

	put_process(33, "db one");
	put_process(32, "db two");
	s = started(before);
	CHECK_OK(services_sweep(s, 1000));
	p = services_known(s, 33);
	CHECK_STR(service_of(s, 33), "db");
	reload(s, c);
	drop_config(before);
	CHECK(services_known(s, 33) == p);
	CHECK_STR(service_of(s, 33), "base");
	CHECK_STR(service_of(s, 32), "base");
	CHECK(strcmp(instance_of(s, 32), instance_of(s, 33)) != 0);
	no = with_rules("[services]\nevery-process = yes\n"
	    "show-arguments = yes\n");
	reload(s, no);
	drop_config(c);
	CHECK(services_known(s, 33) == p);
	CHECK_STR(service_of(s, 33), "db"); /* by its name */
	CHECK_STR(instance_of(s, 33), "");
	CHECK_STR(p->read->command, "db db one");
	CHECK(!p->read->ruled);
	services_free(s);
	drop_config(no);
}

/* What the kernel has told, and /proc not been asked for. */
TEST(the_name_of_a_program_that_was_just_executed)
{
	struct config *c = with_rules("");
	struct services *s;
	char name[64];

	put_process(36, "db");
	s = started(c);
	CHECK_OK(services_sweep(s, 1000));
	put_stat(36, "other");
	services_name_of(s, 36, name, sizeof(name));
	CHECK_STR(name, "db");
	process_executed(process_last(services_table(s), 36),
	    clock_mono_ns() + 1);
	services_name_of(s, 36, name, sizeof(name));
	CHECK_STR(name, "other");
	services_free(s);
	drop_config(c);
}

int
main(void)
{
	char command[64];
	int r;

	if (mkdtemp(proc) == NULL)
		return 1;
	snprintf(command, sizeof(command), "mkdir %s/0", proc);
	r = system(command);
	RUN(a_reload_keeps_numbers);
	RUN(a_reload_keeps_processes);
	RUN(the_name_of_a_program_that_was_just_executed);
	snprintf(command, sizeof(command), "rm -rf %s", proc);
	r += system(command);
	(void)r;
	return test_done();
}
