/*
 * memlensd's configuration: defaults, values with units, and the first
 * mistake as file:line: message.  And: the manual page names every key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static char path[] = "/tmp/memlens-test-config-XXXXXX";

static const struct err *
load(struct config *c, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
	return config_load(c, path);
}

/* The message without the folder of the temporary file. */
static const char *
mistake(const char *text)
{
	static char out[512];
	struct config c;
	const struct err *e = load(&c, text);

	if (e == NULL) {
		config_free(&c);
		return "no mistake";
	}
	snprintf(out, sizeof(out), "%s", strncmp(e->text, path,
	    strlen(path)) == 0 ? e->text + strlen(path) : e->text);
	return out;
}

TEST(defaults)
{
	struct config c;

	CHECK_OK(config_load(&c, NULL));
	CHECK_STR(c.directory, "/var/lib/memlens");
	CHECK_INT(c.slot_ns, 10000000000);
	CHECK_INT(c.profiles[PROFILE_cpu].every, 99);
	CHECK(c.profiles[PROFILE_cpu].enabled && c.procfs && c.kernel);
	CHECK(c.disk && !c.disk_calls);
	CHECK(c.every_process);
	CHECK(!c.show_arguments);
	CHECK_INT(c.n_services, 0);
	config_free(&c);
}

TEST(values)
{
	struct config c;

	CHECK_OK(load(&c, "[store]\nslot = 20ms\nmax-size = 2GiB\n"
	    "retain-fine=7d\nretain-unwatched = 2d\n"
	    "[cpu]\nrate = 49Hz\nenabled = no\n"
	    "unwinder = eh_frame\n[services]\nshow-arguments = yes\n"
	    "[symbols]\nmirror = /var/cache/debug\n"
	    "[service kv one]\ncomm = ^kv_\ncgroup = kv\\.slice\n"
	    "[service db]\ncommand = /usr/bin/db\n"));
	CHECK_INT(c.slot_ns, 20000000);
	CHECK_INT(c.max_bytes, (int64_t)2 << 30);
	CHECK_INT(c.retain_fine_ns, INT64_C(604800000000000));
	CHECK_INT(c.retain_unwatched_ns, INT64_C(172800000000000));
	CHECK_INT(c.profiles[PROFILE_cpu].every, 49);
	CHECK(!c.profiles[PROFILE_cpu].enabled && c.show_arguments);
	CHECK_STR(c.unwinder, "eh_frame");
	CHECK_STR(c.mirror, "/var/cache/debug");
	CHECK_INT(c.n_services, 2);
	CHECK_STR(c.services[0].name, "kv one");
	CHECK_STR(c.services[0].comm, "^kv_");
	CHECK_STR(c.services[0].cgroup, "kv\\.slice");
	CHECK(c.services[0].command == NULL);
	CHECK_STR(c.services[1].command, "/usr/bin/db");
	config_free(&c);
}

/* The manual says "0 is never", and 0 had an unknown unit. */
TEST(zero_needs_no_unit)
{
	struct config c;

	CHECK_OK(load(&c, "[store]\nretain = 0\nretain-fine = 0\n"
	    "max-size = 0\n"));
	CHECK_INT(c.retain_ns, 0);
	CHECK_INT(c.retain_fine_ns, 0);
	CHECK_INT(c.max_bytes, 0);
	config_free(&c);
	CHECK(strstr(mistake("[store]\nslot = 0\n"), ":2: slot:"));
	CHECK(strstr(mistake("[store]\nretain = 1\n"), ":2: retain:"));
	CHECK(strstr(mistake("[store]\nretain = -1d\n"), ":2: retain:"));
}

TEST(mistakes)
{
	CHECK_STR(mistake("[cpu]\nsamplerate = 9\n"),
	    ":2: unknown key \"samplerate\" in [cpu]");
	CHECK_STR(mistake("[cup]\nrate = 9\n"), ":1: unknown section [cup]");
	CHECK(strstr(mistake("\n\n[cpu]\nrate = 5000\n"), ":4: rate:"));
	CHECK(strstr(mistake("[cpu]\nrate = 99 kHz\n"), ":2: rate:"));
	CHECK(strstr(mistake("[store]\nslot = 1ms\n"), ":2: slot:"));
	CHECK(strstr(mistake("[cpu]\nenabled = maybe\n"), ":2: enabled:"));
	CHECK_STR(mistake("[cpu]\n# no\nunwinder = magic\n"), ":3: unwinder: "
	    "\"magic\" is neither frame-pointer nor eh_frame");
	CHECK(strstr(mistake("[service a]\ncomm = (\n"), ":2: comm: \"(\""));
	CHECK_STR(mistake("[service a]\npid = 1\n"),
	    ":2: unknown key \"pid\" in [service a]");
	CHECK_STR(mistake("[symbols]\nmirror = debug\n"),
	    ":2: mirror: \"debug\" does not begin with /");
	CHECK_STR(mistake("[symbols]\nmirror =\n"), "no mistake");
	CHECK(strstr(mistake("[cpu]\nrate\n"), ":2: "));
	CHECK(strstr(mistake("[cpu]\nbudget = 1\n"), ":2: budget:"));
	CHECK(strstr(mistake("[cpu]\nbudget = 101%\n"), ":2: budget:"));
	CHECK(strstr(mistake("[cpu]\nbudget = x%\n"), ":2: budget:"));
}

TEST(nothing_stays_longer_than_everything)
{
	CHECK_STR(mistake("[store]\nretain-fine = 2h\nretain = 1h\n"),
	    ":3: retain: everything goes after 3600 s, but single slots are "
	    "to stay for 7200 s (retain-fine)");
	/* against what the other one is by default */
	CHECK(strstr(mistake("[store]\n\nretain = 1d\n"), ":3: retain: "));
	CHECK(strstr(mistake("[store]\n\nretain-fine = 3y\n"),
	    ":3: retain: "));
	CHECK_STR(mistake("[store]\nretain-fine = 1h\nretain = 1h\n"),
	    "no mistake");
	CHECK_STR(mistake("[store]\nretain-fine = 3y\nretain = 0\n"),
	    "no mistake");
	CHECK_STR(mistake("[store]\nretain-fine = 0\nretain = 1h\n"),
	    "no mistake");
}

/* libinih cuts lines and the names of sections, goes on with a line that is
 * indented, and says nothing of sections without keys. */
TEST(what_libinih_passes_over)
{
	char text[512];
	struct config c;

	CHECK_STR(mistake("[cpu\nrate = 99Hz\n"), ":1: [ without ]");
	CHECK_STR(mistake("\n[nosuch]\n"), ":2: unknown section [nosuch]");
	snprintf(text, sizeof(text), "[service %080d]\ncomm = a\n", 1);
	CHECK_STR(mistake(text), ":2: a service's name has 1 to 63 bytes");
	snprintf(text, sizeof(text), "[service a]\ncomm = %0300d\n", 1);
	CHECK(strstr(mistake(text), ":2: longer than ") != NULL);
	CHECK(strstr(mistake("[cpu]\nrate = 9\n kernel = maybe\n"),
	    ":3: kernel:") != NULL);
	CHECK(config_load(&c, "/") != NULL);
	snprintf(text, sizeof(text), "\xef\xbb\xbf # %0300d\n  [service "
	    "%060d]\n  comm = a\n  cgroup = b\n", 1, 7);
	CHECK_OK(load(&c, text));
	CHECK_INT(c.n_services, 1);
	CHECK_INT(strlen(c.services[0].name), 60);
	CHECK_STR(c.services[0].comm, "a");
	CHECK_STR(c.services[0].cgroup, "b");
	config_free(&c);
}

TEST(too_many_services)
{
	static char text[8192];
	size_t n = 0;

	for (int i = 0; i < 65; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "[service s%d]\ncomm = x\n", i);
	CHECK(strstr(mistake(text), "more than 64 services"));
}

/* Every key stands in the manual page as ".It Ic key", below its section. */
TEST(manual_page)
{
	static char text[65536];
	FILE *f = fopen("collector/memlens.conf.5", "r");
	size_t n;

	CHECK(f != NULL);
	if (f == NULL)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	for (size_t i = 0; i < config_spec.n_keys; i++) {
		const struct conf_key *k = &config_spec.keys[i];
		char section[80], key[80];
		const char *at;

		snprintf(section, sizeof(section), ".Ss [%s]\n", k->section);
		snprintf(key, sizeof(key), "\n.It Ic %s", k->key);
		at = strstr(text, section);
		CHECK(at != NULL);
		if (at == NULL || strstr(at, key) == NULL) {
			printf("# [%s] %s is not documented\n", k->section,
			    k->key);
			test_bad++;
		}
	}
}

TEST(sections_are_compared)
{
	struct config a, b;

	CHECK_OK(load(&a, "[disk]\nenabled = yes\n"));
	CHECK_OK(load(&b, "[disk]\nenabled = yes\nrun-queue = yes\n"
	    "[symbols]\nmirror = /tmp\n[offcpu]\nthreshold = 2ms\n"));
	CHECK(conf_same(&config_spec, "cpu", &a, &b));
	CHECK(conf_same(&config_spec, "no such section", &a, &b));
	CHECK(!conf_same(&config_spec, "disk", &a, &b));
	CHECK(!conf_same(&config_spec, "symbols", &a, &b));
	CHECK(!conf_same(&config_spec, "offcpu", &a, &b));
	CHECK(conf_same(&config_spec, "symbols", &b, &b));
	config_free(&a);
	config_free(&b);
}

int
main(void)
{
	close(mkstemp(path));
	RUN(defaults);
	RUN(values);
	RUN(zero_needs_no_unit);
	RUN(mistakes);
	RUN(nothing_stays_longer_than_everything);
	RUN(what_libinih_passes_over);
	RUN(too_many_services);
	RUN(manual_page);
	RUN(sections_are_compared);
	unlink(path);
	return test_done();
}
