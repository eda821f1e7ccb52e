/*
 * The command line of kvservice, as one table: name, where the value goes,
 * and the line of --help.
 */

#include "kvservice_options.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace kv {

namespace {

struct Option {
	const char *name;
	const char *arg;		/* NULL for a switch */
	const char *help;
	std::string Options::*text;
	long Options::*number;
	bool Options::*flag;
	long min, max;
};

#define TEXT(field)	&Options::field, nullptr, nullptr, 0, 0
#define NUMBER(field, min, max)	nullptr, &Options::field, nullptr, min, max
#define FLAG(field)	nullptr, nullptr, &Options::field, 0, 0

const Option options[] = {
	{ "--listen", "ADDR", "IPv4 address (127.0.0.1)", TEXT(listen) },
	{ "--port", "N", "key-value interface (18000; 0 = any free port)",
	    NUMBER(port, 0, 65535) },
	{ "--stats-port", "N", "stats interface (18501; 0 = any free port)",
	    NUMBER(stats_port, 0, 65535) },
	{ "--workers", "N", "threads kv-http-0.. (4)", NUMBER(workers, 1, 64) },
	{ "--db", "DIR", "LevelDB directory, made if missing (kvservice.db)",
	    TEXT(db) },
	{ "--write-buffer", "BYTES", "LevelDB's memtable (1048576)",
	    NUMBER(write_buffer, 1, 1L << 30) },
	{ "--cache", "BYTES", "LevelDB's block cache (1048576)",
	    NUMBER(cache, 0, 1L << 34) },
	{ "--lru", "N", "values kept in front of LevelDB (100)",
	    NUMBER(lru, 0, 10000000) },
	{ "--sync", nullptr, "fsync every write", FLAG(sync) },
	{ "--ready-file", "FILE", "once it listens, write \"PID PORT STATS\"",
	    TEXT(ready_file) },
	{ "--consensus-entries", "N", "transactions in /consensus_data (10)",
	    NUMBER(consensus_entries, 0, 1000000) },
	{ nullptr, nullptr, "Quirks of the real service:",
	    nullptr, nullptr, nullptr, 0, 0 },
	{ "--slow-get", "MS", "a GET takes 0.45 to 1.55 times MS "
	    "(242: the real 110 to 375 ms)", NUMBER(slow_get_ms, 0, 600000) },
	{ "--hang-get", "PREFIX", "a GET of such a key is never answered",
	    TEXT(hang_get) },
	{ "--block", nullptr, "slow and hanging GETs hold their thread, and "
	    "all its connections", FLAG(block) },
	{ "--empty-level-table", nullptr, "level_db_stats has no rows",
	    FLAG(empty_level_table) },
	{ "--nan", nullptr, "quantiles in /metrics read Nan", FLAG(nan) },
	{ "--bad-range", nullptr, "range answers are protobuf bytes in "
	    "brackets, labelled JSON", FLAG(bad_range) },
	{ "--no-all", nullptr, "no GET /v1/transactions (404)",
	    FLAG(no_all) },
	{ "--crash-after", "S", "die by SIGKILL after S seconds",
	    NUMBER(crash_after_s, 0, 1000000) },
	{ "--respawn", nullptr, "a parent (kv-respawn) starts it anew, with a "
	    "new pid, after a crash", FLAG(respawn) },
};

[[noreturn]] void
print_usage(FILE *to, int code)
{
	std::fprintf(to, "usage: kvservice [options]\n\n"
	    "A LevelDB key-value service that speaks ResilientDB's HTTP "
	    "interfaces.\n\n");
	for (const Option &o : options) {
		if (o.name == nullptr) {
			std::fprintf(to, "\n%s\n", o.help);
			continue;
		}
		std::string left = o.name;
		if (o.arg != nullptr)
			left += std::string(" ") + o.arg;
		std::fprintf(to, "  %-24s %s\n", left.c_str(), o.help);
	}
	std::fprintf(to, "\nAlways: a missing key is 200 with an empty body; "
	    "GET /v1/transactions\nanswers 503 within 30 s of the last; "
	    "GET /make_faulty changes state.\n");
	std::exit(code);
}

[[noreturn]] void
fail(const char *what, const char *why)
{
	std::fprintf(stderr, "kvservice: %s: %s (see --help)\n", what, why);
	std::exit(2);
}

const Option *
find_option(const std::string &name)
{
	for (const Option &o : options)
		if (o.name != nullptr && name == o.name)
			return &o;
	return nullptr;
}

long
parse_number(const Option &o, const char *text)
{
	char *end;
	errno = 0;
	long value = std::strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' ||
	    value < o.min || value > o.max)
		fail(o.name, "not a number in range");
	return value;
}

} // namespace

Options
parse_options(int argc, char **argv)
{
	Options opts;
	for (int i = 1; i < argc; i++) {
		if (std::strcmp(argv[i], "--help") == 0)
			print_usage(stdout, 0);
		std::string name = argv[i];
		const char *value = nullptr;
		size_t eq = name.find('=');
		if (eq != std::string::npos) {
			value = argv[i] + eq + 1;
			name.resize(eq);
		}
		const Option *o = find_option(name);
		if (o == nullptr)
			fail(argv[i], "unknown option");
		if (o->arg == nullptr) {
			if (value != nullptr)
				fail(o->name, "takes no value");
			opts.*o->flag = true;
			continue;
		}
		if (value == nullptr && (value = argv[++i]) == nullptr)
			fail(o->name, "needs a value");
		if (o->text != nullptr)
			opts.*o->text = value;
		else
			opts.*o->number = parse_number(*o, value);
	}
	return opts;
}

} // namespace kv
