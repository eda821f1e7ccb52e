/*
 * The socket that a pool of workers shares.
 */
#ifndef FCGI_LISTEN_H
#define FCGI_LISTEN_H

struct err;

/*
 * Listens on a unix socket at `path`, mode 0660.  A socket that a dead
 * process has left there is replaced; a living one, and anything else, is an
 * error.
 */
const struct err *listen_unix(const char *path, int *fd);

/* Is the descriptor a listening socket, as systemd or spawn-fcgi give it? */
int listen_is_socket(int fd);

#endif
