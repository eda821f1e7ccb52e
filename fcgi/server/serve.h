/*
 * One worker: accepts requests of FastCGI on a socket, one at a time, and
 * answers them.  Stateless but for caches; its end at any moment costs at
 * most the request in its hands.
 */
#ifndef FCGI_SERVE_H
#define FCGI_SERVE_H

#include "fcgi/server/route.h"

struct draw;
struct settings;

struct serve_options {
	const struct site *site;
	int socket; /* listening */
	const char *store_dir;
	const struct settings *settings;
	struct draw *draw;
	enum pool pool;
	long max_requests; /* after so many it ends; 0: never */
	unsigned number; /* of the pool, from 1; */
	unsigned workers; /* there are so many */
	int turns; /* of the pool: turn.h */
	int fault; /* as in context.h */
};

/* Runs until SIGTERM or max_requests; the exit status of the process. */
int serve_run(const struct serve_options *o);

#endif
