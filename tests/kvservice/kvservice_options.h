/*
 * Options of kvservice: what the command line says, with defaults.
 * Parsing prints a usage and exits; nothing else in the program does.
 */

#ifndef KVSERVICE_OPTIONS_H
#define KVSERVICE_OPTIONS_H

#include <cstddef>
#include <string>

namespace kv {

struct Options {
	std::string listen = "127.0.0.1";
	long port = 18000;		/* 0: any free one */
	long stats_port = 18501;	/* 0: any free one */
	long workers = 4;
	std::string db = "kvservice.db";
	long write_buffer = 1 << 20;	/* bytes; LevelDB's least is 64 KiB */
	long cache = 1 << 20;		/* bytes of LevelDB's block cache */
	long lru = 100;			/* values in front of LevelDB */
	bool sync = false;		/* fsync each write */
	std::string ready_file;		/* "pid port stats-port" */
	long consensus_entries = 10;

	/* Quirks of the real service. */
	long slow_get_ms = 0;
	std::string hang_get;		/* key prefix, "" is off */
	bool block = false;
	bool empty_level_table = false;
	bool nan = false;
	bool bad_range = false;
	bool no_all = false;
	long crash_after_s = 0;
	bool respawn = false;
};

/* Read argv; prints the usage and exits with 0 (--help) or 2 (mistakes). */
Options parse_options(int argc, char **argv);

} // namespace kv

#endif
