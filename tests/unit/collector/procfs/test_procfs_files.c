/*
 * Files of this process, in folders of its own: what is counted, as what.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/process/process.h"
#include "collector/procfs/procfs.h"
#include "collector/procfs/procfs_files.h"
#include "store/base/clock.h"
#include "store/batch/batch.h"
#include "store/batch/meter.h"
#include "store/model/series.h"
#include "tests/unit/test.h"

static char top[] = "/var/tmp/memlens-test-XXXXXX";
static char said[16384];

/* A file of so many bytes; its descriptor, open for writing. */
static int
make(const char *folder, const char *name, size_t bytes)
{
	char path[300];
	char *some = calloc(1, bytes + 1);
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/%s", top, folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, some, bytes), (ssize_t)bytes);
	fsync(fd);
	free(some);
	return fd;
}

static void
take(const struct batch *b, const struct batch_block *block)
{
	size_t at = strlen(said);
	struct label labels[8];
	struct series_desc d;
	const char *kind, *folder, *state;

	batch_series_desc(b, block->series, &d, labels, 8);
	kind = label_find(labels, d.n_labels, "kind");
	folder = label_find(labels, d.n_labels, "folder");
	state = label_find(labels, d.n_labels, "state");
	snprintf(said + at, sizeof(said) - at, "%s %s %s %jd\n", d.name,
	    folder != NULL ? strrchr(folder, '/') : state, kind != NULL
	    ? kind : "", (intmax_t)block->last);
}

/* What one reading of this process says, a minute after the last one. */
static const char *
reading(struct files *f, bool ruled)
{
	static int64_t now_ns = INT64_C(1700000040) * NS_PER_S;
	struct process_read read = {.service = "db", .comm = "prog",
	    .ruled = ruled};
	struct process p = {.pid = getpid(), .read = &read};
	struct procfs_reading r = {meter_new(1000), 10, NULL};
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct batch *b = batch_new(1000);

	said[0] = '\0';
	files_begin(f, now_ns);
	files_add(f, proc_fd, &p);
	files_put(f, proc_fd, &r);
	meter_close(r.meter, 0, b);
	for (size_t i = 0; i < b->n_blocks; i++)
		take(b, &b->blocks[i]);
	batch_free(b);
	meter_free(r.meter);
	close(proc_fd);
	now_ns += 60 * NS_PER_S;
	return said;
}

static bool
says(const char *line)
{
	return strstr(said, line) != NULL;
}

TEST(logs_are_told_by_their_names)
{
	static const char *const logs[] = {"server0.log", "LOG", "LOG.old",
	    "kv_service.host.user.log.INFO.20260619-1.7", "a.log.1.gz",
	    "kv_service.INFO", "nohup.out", "x.stderr",
	    /* as logrotate leaves them */
	    "app.log-20261124", "app.log-20261124.gz", "audit.LOG",
	    "app.log-2026-11-24", "app.log-20261124-1732435200",
	    "app.log.2.xz", "audit.LOG.1", "app.log.old", "app.log_20261124",
	    "catalina.out-20261124", "mysqld.err.1", "LOG.old.1612",
	    "app.log.1.zst", "app-20261124.log", "Server.Log~"};
	static const char *const data[] = {"000012.log", "MANIFEST-000004",
	    "000005.ldb", "CURRENT", "dump.rdb", "ib_logfile0", ".log",
	    "catalog", "LOGS", "out", "core.1234",
	    "dump-20261124", "app.log2", "aria_log.00000001", "LOCK",
	    "db.old", "-1", "a.gz", ".1"};

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		CHECK_STR(files_is_log(logs[i]) ? logs[i] : "", logs[i]);
	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		CHECK_STR(files_is_log(data[i]) ? "" : data[i], data[i]);
}

TEST(a_log_beside_a_small_database)
{
	struct files *f = files_new(10 * NS_PER_S);
	int fds[] = {make("db", "000003.log", 4096), make("log",
	    "prog.log", 40960)};

	close(make("db", "000005.ldb", 8192)); /* not open */
	close(make("log", "prog.1.log", 8192));
	reading(f, true);
	CHECK(says("memlens_service_files /db data 2\n"));
	CHECK(says("memlens_service_files_bytes /db data 12288\n"));
	CHECK(says("memlens_service_files_bytes /db log 0\n"));
	CHECK(says("memlens_service_files /log log 2\n"));
	CHECK(says("memlens_service_files_bytes /log log 49152\n"));
	CHECK(says("memlens_service_folders left out  0\n"));
	CHECK_STR(reading(f, false), ""); /* no rule names it */
	for (size_t i = 0; i < 2; i++)
		close(fds[i]);
	files_free(f);
}

/* Backups are made of them: each name counted. */
TEST(a_file_of_two_names_is_one)
{
	struct files *f = files_new(10 * NS_PER_S);
	int fds[] = {make("db2", "000003.log", 4096), make("copy",
	    "000004.log", 4096)};
	static const char *const names[] = {"db2/other", "copy/000005.ldb"};
	char from[300], to[300];

	close(make("db2", "000005.ldb", 8192));
	snprintf(from, sizeof(from), "%s/db2/000005.ldb", top);
	for (int i = 0; i < 2; i++) {
		snprintf(to, sizeof(to), "%s/%s", top, names[i]);
		CHECK_INT(link(from, to), 0);
	}
	reading(f, true);
	/* whichever folder is read first has it */
	CHECK((says("memlens_service_files_bytes /db2 data 12288\n") &&
	    says("memlens_service_files_bytes /copy data 4096\n") &&
	    says("memlens_service_files /db2 data 2\n")) ||
	    (says("memlens_service_files_bytes /db2 data 4096\n") &&
	    says("memlens_service_files_bytes /copy data 12288\n") &&
	    says("memlens_service_files /copy data 2\n")));
	close(fds[0]);
	close(fds[1]);
	files_free(f);
}

/* It takes the disk until its program lets it go. */
TEST(a_deleted_log_that_is_held_open)
{
	struct files *f = files_new(10 * NS_PER_S);
	int fds[] = {make("held", "prog.log", 40960), make("lost",
	    "a.log", 8192), make("held", "b.ldb", 4096)}, again;
	char path[300];

	snprintf(path, sizeof(path), "%s/held/prog.log", top);
	again = open(path, O_WRONLY | O_CLOEXEC);
	CHECK_INT(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/lost/a.log", top);
	CHECK_INT(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	CHECK_INT(rmdir(path), 0);
	reading(f, true);
	CHECK(says("memlens_service_files_bytes /held log 40960\n"));
	CHECK(says("memlens_service_files /held log 1\n"));
	CHECK(says("memlens_service_files_bytes /held data 4096\n"));
	CHECK(says("memlens_service_files_bytes /lost log 8192\n"));
	CHECK(says("memlens_service_folders left out  0\n"));
	for (size_t i = 0; i < 3; i++)
		close(fds[i]);
	close(again);
	files_free(f);
}

/* Where everybody writes, and root's files are everybody's. */
TEST(strangers_in_a_folder_do_not_count)
{
	struct files *f = files_new(10 * NS_PER_S);
	char path[300];
	int fd = make("shared", "own.log", 4096);

	close(make("shared", "other.log", 40960));
	close(make("shared", "prog.host.log", 8192));
	snprintf(path, sizeof(path), "%s/shared", top);
	CHECK_INT(chmod(path, 01777), 0);
	reading(f, true);
	CHECK(says("memlens_service_files_bytes /shared log 12288\n"));
	close(fd);
	files_free(f);
}

TEST(folders_are_bounded_and_counted)
{
	struct files *f = files_new(10 * NS_PER_S);
	int fds[24];
	char name[16];

	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		fds[2 * i] = make(name, "a", 1);
		fds[2 * i + 1] = make(name, "b", 1);
	}
	reading(f, true);
	CHECK(says("memlens_service_folders read  8\n"));
	/* what this test prints may go to a file, too */
	CHECK(says("memlens_service_folders left out  4\n") ||
	    says("memlens_service_folders left out  5\n"));
	for (int i = 0; i < 24; i++)
		close(fds[i]);
	/* one of too many files has no figure, rather than a part of it */
	fds[0] = make("full", "a", 1);
	for (int i = 0; i < FILES_ENTRIES_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		close(make("full", name, 0));
	}
	reading(f, true);
	CHECK(!says("/full"));
	CHECK(says("memlens_service_folders left out  1\n"));
	close(fds[0]);
	files_free(f);
}

TEST(it_is_read_once_in_six_slots)
{
	struct files *f = files_new(20 * NS_PER_S); /* 60 s are no 6 slots */
	int fd = make("db", "000003.log", 4096), told = 0;

	reading(f, true);
	for (int i = 0; i < 8; i++)
		told += *reading(f, true) != '\0';
	CHECK_INT(told, 4);
	close(fd);
	files_free(f);
}

int
main(void)
{
	char command[64];
	int r;

	if (mkdtemp(top) == NULL)
		return 1;
	if (getuid() == 0) { /* as services run, not as root */
		r = chown(top, 65534, 65534) | setgid(65534) | setuid(65534);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	}
	RUN(logs_are_told_by_their_names);
	RUN(a_log_beside_a_small_database);
	RUN(a_file_of_two_names_is_one);
	RUN(a_deleted_log_that_is_held_open);
	RUN(strangers_in_a_folder_do_not_count);
	RUN(folders_are_bounded_and_counted);
	RUN(it_is_read_once_in_six_slots);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	r = system(command);
	(void)r;
	return test_done();
}
