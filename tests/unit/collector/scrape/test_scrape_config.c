/*
 * The scraper's configuration.  Compiled into this test, because no library
 * holds the scraper.
 */
#include <signal.h>
#include <unistd.h>

#include "collector/scrape/scrape_config.c" /* NOLINT: see above */
#include "tests/unit/test.h"

static const struct err *
load(struct scrape_config *c, const char *text)
{
	char path[] = "/tmp/scrape-XXXXXX";
	int fd = mkstemp(path);
	const struct err *e;

	CHECK(fd >= 0 && write(fd, text, strlen(text)) ==
	    (ssize_t)strlen(text));
	e = scrape_config_load(c, path);
	close(fd);
	unlink(path);
	return e;
}

TEST(an_instance_is_host_and_port)
{
	struct scrape_config c;

	CHECK_OK(load(&c, "[target a]\nservice = kv\n"
	    "leveldb = http://127.0.0.1:81/x:9\n"
	    "prometheus = http://127.0.0.1:82/\n"
	    "[target b]\nservice = kv\nprometheus = http://127.0.0.1\n"
	    "[target c]\nservice = kv\nprometheus = http://[::1]/m\n"
	    "[target d]\nservice = kv\nprometheus = http://[::1]:7/m\n"
	    "[target e]\ninstance = one\nleveldb = http://127.0.0.1:81/\n"));
	CHECK_STR(c.targets[0].instance, "127.0.0.1:81");
	CHECK_STR(c.targets[1].instance, "127.0.0.1:80");
	CHECK_STR(c.targets[2].instance, "[::1]:80");
	CHECK_STR(c.targets[3].instance, "[::1]:7");
	CHECK_STR(c.targets[4].instance, "one");
	scrape_config_free(&c);
	CHECK_OK(load(&c, "[target a]\nprometheus = unix:/run/a.sock:/m\n"
	    "[target b]\nprometheus = https://127.0.0.1/m\n"));
	CHECK_STR(c.targets[0].instance, "/run/a.sock");
	CHECK_STR(c.targets[1].instance, "127.0.0.1:443");
	scrape_config_free(&c);
}

TEST(two_of_one_name_are_refused)
{
	struct scrape_config c;
	const struct err *e;

	e = load(&c, "[target a]\nservice = kv\n"
	    "leveldb = http://127.0.0.1:81/x\n"
	    "[target b]\nservice = kv\n"
	    "prometheus = http://127.0.0.1:81/y\n");
	CHECK(e != NULL && strstr(e->text, ":6: [target b] is instance "
	    "\"127.0.0.1:81\" of service \"kv\", as [target a]") != NULL);
	/* the order of the keys does not matter */
	CHECK_OK(load(&c, "[target a]\nleveldb = http://127.0.0.1:81/x\n"
	    "service = kv\n[target b]\nprometheus = http://127.0.0.1:81/y\n"
	    "service = kv\ninstance = other\n"));
	scrape_config_free(&c);
	CHECK(load(&c, "[target a]\ninstance =\n") != NULL);
}

TEST(profiles_of_a_target)
{
	struct scrape_config c;
	const struct err *e;

	CHECK_OK(load(&c, "[scrape]\nprofile-interval = 30s\n"
	    "[target a]\nprofile = http://127.0.0.1:6060/debug/pprof/heap\n"
	    "profile = http://127.0.0.1:6060/debug/pprof/block?debug=0\n"
	    "dumps = /var/lib/db/jp\nprofile-size = 1M\n"
	    "[target b]\nprofile = http://127.0.0.1:1/h\n"));
	CHECK_INT(c.targets[0].n_profiles, 3);
	CHECK_STR(c.targets[0].instance, "127.0.0.1:6060");
	CHECK_STR(c.targets[0].profiles[0].group, "heap");
	CHECK_STR(c.targets[0].profiles[1].group, "block");
	CHECK_STR(c.targets[0].profiles[2].dumps, "/var/lib/db/jp");
	CHECK_INT(c.targets[0].profile_interval_ns, 30 * S);
	CHECK_INT(c.targets[0].profile_bytes, 1 << 20);
	CHECK_INT(c.targets[1].profile_bytes, 16 << 20);
	scrape_config_free(&c);
	e = load(&c, "[target a]\nprofile = http://127.0.0.1/p/heap\n"
	    "profile = http://127.0.0.1/p/allocs\n");
	CHECK(e != NULL && strstr(e->text, "say the same") != NULL);
	e = load(&c, "[target a]\ndumps = jp\n");
	CHECK(e != NULL && strstr(e->text, ":2: dumps: \"jp\"") != NULL);
	CHECK_OK(load(&c, "[target a]\ndumps = /d/jp\ndump-signal = USR2\n"
	    "pid-file = /run/db.pid\n"));
	CHECK_INT(c.targets[0].dump_signal, SIGUSR2);
	CHECK_STR(c.targets[0].pid_file, "/run/db.pid");
	scrape_config_free(&c);
	e = load(&c, "[target a]\ndumps = /d/jp\ndump-signal = USR2\n");
	CHECK(e != NULL && strstr(e->text, "needs pid-file") != NULL);
	e = load(&c, "[target a]\npid-file = /p\ndump-signal = USR1\n");
	CHECK(e != NULL && strstr(e->text, "and dumps") != NULL);
	e = load(&c, "[target a]\ndump-signal = KILL\n");
	CHECK(e != NULL && strstr(e->text, "USR1 or USR2") != NULL);
	e = load(&c, "[target a]\nprofile-size = 1G\n");
	CHECK(e != NULL && strstr(e->text, "out of range") != NULL);
}

int
main(void)
{
	RUN(an_instance_is_host_and_port);
	RUN(two_of_one_name_are_refused);
	RUN(profiles_of_a_target);
	return test_done();
}
