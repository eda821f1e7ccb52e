/*
 * Binding the socket without taking a living one away, and looking at peers.
 */
#include "collector/ipc/door.h"

#include <errno.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/base/err.h"

#define NO_GROUP ((gid_t)-1)

static bool
door_in_group(int fd, gid_t group)
{
	gid_t groups[256];
	socklen_t len = sizeof(groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++) {
		if (groups[i] == group)
			return true;
	}
	return false;
}

bool
door_allows(const struct door *d, int fd, bool *root, int32_t *pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	*root = false;
	*pid = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		return false;
	*root = peer.uid == 0;
	*pid = peer.pid;
	if (peer.uid == 0 || peer.uid == geteuid())
		return true;
	return d->group != NO_GROUP &&
	    (peer.gid == d->group || door_in_group(fd, d->group));
}

/* Only a dead socket may be taken away: not somebody else's living one, and
 * no file, which refuses a connection just like a dead socket. */
static const struct err *
door_clear_path(const struct door *d)
{
	int fd, bad;
	struct stat st;

	if (lstat(d->address.sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return err_new(ERR_CONFIG, 0, "%s: is there and no socket",
		    d->address.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno("socket");
	bad = connect(fd, (const struct sockaddr *)&d->address,
	    sizeof(d->address));
	close(fd);
	/* EAGAIN: it lives, and its backlog is full. */
	if (bad == 0 || errno == EAGAIN)
		return err_new(ERR_LIMIT, 0, "%s: another daemon answers here",
		    d->address.sun_path);
	if (errno == ECONNREFUSED && unlink(d->address.sun_path) != 0)
		return err_errno("%s", d->address.sun_path);
	return NULL;
}

static const struct err *
door_find_group(struct door *d)
{
	const char *name = d->group_name;
	struct group *g;

	d->group = NO_GROUP;
	if (name == NULL || name[0] == '\0')
		return NULL;
	if ((g = getgrnam(name)) == NULL)
		return err_new(ERR_CONFIG, 0, "[socket] group: there is no "
		    "group \"%s\"", name);
	d->group = g->gr_gid;
	return NULL;
}

static const struct err *
door_bind(struct door *d)
{
	const char *path = d->address.sun_path;
	const struct err *e;
	mode_t mask;
	int bad;

	if ((e = door_clear_path(d)) != NULL)
		return e;
	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return err_errno("socket");
	mask = umask(0117);
	bad = bind(d->fd, (struct sockaddr *)&d->address,
	    sizeof(d->address));
	umask(mask);
	if (bad != 0)
		return err_errno("%s", path);
	d->bound = true;
	if (d->group != NO_GROUP &&
	    lchown(path, (uid_t)-1, d->group) != 0)
		return err_errno("%s: giving it to group %s", path,
		    d->group_name);
	if (listen(d->fd, 128) != 0)
		return err_errno("%s", path);
	return NULL;
}

const struct err *
door_open(struct door *d)
{
	const struct err *e;

	d->fd = -1;
	d->bound = false;
	e = door_find_group(d);
	return e != NULL ? e : door_bind(d);
}

void
door_close(struct door *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->bound)
		unlink(d->address.sun_path);
}
