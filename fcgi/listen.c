/*
 * Unix sockets for FastCGI.
 */
#include "fcgi/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/base/err.h"

/* More than the web server lets in at once (nginx/memlens-run.conf.in), or it
 * would take a full queue for nobody. */
#define BACKLOG 4096

int
listen_is_socket(int fd)
{
	int listening = 0;
	socklen_t n = sizeof(listening);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &n) == 0 &&
	    listening;
}

/* Removes what a dead process has left; nobody answers there. */
static const struct err *
listen_clear(const struct sockaddr_un *a)
{
	struct stat st;
	int fd, rc, why;

	if (lstat(a->sun_path, &st) < 0)
		return errno == ENOENT ? NULL : err_errno("%s", a->sun_path);
	if (!S_ISSOCK(st.st_mode))
		return err_new(ERR_ERRNO, EEXIST, "%s: exists and is no socket",
		    a->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_errno("socket");
	rc = connect(fd, (const struct sockaddr *)a, sizeof(*a));
	why = errno;
	close(fd);
	if (rc == 0 || why != ECONNREFUSED)
		return err_new(ERR_ERRNO, EADDRINUSE,
		    "%s: somebody listens there already", a->sun_path);
	return unlink(a->sun_path) < 0 ? err_errno("%s", a->sun_path) : NULL;
}

const struct err *
listen_unix(const char *path, int *fd)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const struct err *e;
	mode_t mask;
	int bound;

	if (strlen(path) >= sizeof(a.sun_path))
		return err_new(ERR_ERRNO, ENAMETOOLONG, "%s: longer than %zu "
		    "bytes", path, sizeof(a.sun_path) - 1);
	memcpy(a.sun_path, path, strlen(path) + 1);
	if ((e = listen_clear(&a)) != NULL)
		return e;
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return err_errno("socket");
	mask = umask(0117);
	bound = bind(*fd, (const struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (bound < 0 || listen(*fd, BACKLOG) < 0) {
		e = err_errno("%s", path);
		close(*fd);
		return e;
	}
	return NULL;
}
