/*
 * kvservice: a real LevelDB key-value service with ResilientDB's HTTP
 * interfaces, to be profiled. Here: start, signals, crash and respawn.
 *
 * Threads: kvservice (waits for signals), kv-http-N, kv-stats, leveldb-bg.
 */

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <exception>

#include "kvservice_api.h"

namespace {

/* Blocked everywhere, taken by sigwait: no handler, no race. */
sigset_t
stop_signals()
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

/* LevelDB alone may keep 1000 files open. */
void
raise_file_limit()
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void
write_ready_file(const std::string &path, int port, int stats_port)
{
	std::string fresh = path + ".new";
	FILE *f = std::fopen(fresh.c_str(), "w");
	if (f == nullptr) {
		std::perror(fresh.c_str());
		return;
	}
	std::fprintf(f, "%d %d %d\n", (int)getpid(), port, stats_port);
	std::fclose(f);
	if (std::rename(fresh.c_str(), path.c_str()) == -1)
		std::perror(path.c_str());
}

/* Until a signal asks for the end; or not so long, and then no return. */
void
wait_for_end(long crash_after_s)
{
	sigset_t set = stop_signals();
	struct timespec left = { crash_after_s, 0 };
	for (;;) {
		int got = crash_after_s > 0 ?
		    sigtimedwait(&set, nullptr, &left) :
		    sigwaitinfo(&set, nullptr);
		if (got > 0)
			return;
		if (errno == EAGAIN)
			kill(getpid(), SIGKILL);
	}
}

int
run_service(const kv::Options &options)
{
	kv::Service service(options);
	kv::Server kv("kv-http", options.listen, options.port,
	    options.workers, options.block,
	    [&](const kv::Request &r) { return handle_kv(&service, r); });
	kv::Server stats("kv-stats", options.listen, options.stats_port, 1,
	    false,
	    [&](const kv::Request &r) { return handle_stats(&service, r); });
	service.port = kv.port();
	std::printf("kvservice: pid %d, port %d, stats port %d\n",
	    (int)getpid(), kv.port(), stats.port());
	std::fflush(stdout);
	if (!options.ready_file.empty())
		write_ready_file(options.ready_file, kv.port(), stats.port());
	wait_for_end(options.crash_after_s);
	return 0;
}

int
start_service(const kv::Options &options)
{
	try {
		return run_service(options);
	} catch (const std::exception &error) {
		std::fprintf(stderr, "kvservice: %s\n", error.what());
		return 1;
	}
}

/* Returns the child's pid, 0 in the child. */
pid_t
fork_service()
{
	pid_t parent = getpid(), child = fork();
	if (child != 0)
		return child;
	prctl(PR_SET_NAME, "kvservice");
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	return 0;
}

/* Starts the service again as long as it dies of a signal. */
int
keep_alive(const kv::Options &options)
{
	sigset_t set = stop_signals();
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	prctl(PR_SET_NAME, "kv-respawn");
	for (;;) {
		int status = 0, got;
		pid_t child = fork_service();
		if (child == 0)
			return start_service(options);
		if (child == -1)
			return 1;
		while ((got = sigwaitinfo(&set, nullptr)) != SIGCHLD)
			if (got > 0)
				kill(child, SIGTERM);
		waitpid(child, &status, 0);
		if (WIFEXITED(status))
			return WEXITSTATUS(status);
		struct timespec pause = { 0, 100000000 };
		nanosleep(&pause, nullptr);
	}
}

} // namespace

int
main(int argc, char **argv)
{
	kv::Options options = kv::parse_options(argc, argv);
	sigset_t set = stop_signals();
	sigprocmask(SIG_BLOCK, &set, nullptr);
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	return options.respawn ? keep_alive(options) : start_service(options);
}
