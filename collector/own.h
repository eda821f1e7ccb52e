/*
 * Which workers are of this installation: others of the same name may be on
 * the host, of another store or of nobody.
 */
#ifndef COLLECTOR_OWN_H
#define COLLECTOR_OWN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Was memlens-fcgi started on the store in `directory`, by one who may be its
 * reader: root, the store's owner, or one of the store's group?  -1: nobody
 * knows, the process has gone or cannot be read.
 */
int own_worker(int32_t pid, const char *directory);

#endif
