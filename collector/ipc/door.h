/*
 * The daemon's socket: its path, and who may come in (SO_PEERCRED): uid 0, the
 * daemon's own uid, and whoever has the configured group among his groups.
 */
#ifndef COLLECTOR_DOOR_H
#define COLLECTOR_DOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

struct err;

struct door {
	struct sockaddr_un address;
	const char *group_name; /* or NULL */
	gid_t group;
	int fd;     /* -1: closed */
	bool bound; /* the path is ours */
};

/* Binds the path of d->address, 0660, the group's if one is named, and
 * listens.  Errors as of intake_open(); door_close() it all the same. */
const struct err *door_open(struct door *d);
void door_close(struct door *d);

/* May the peer come in, and who is it? */
bool door_allows(const struct door *d, int fd, bool *root, int32_t *pid);

#endif
