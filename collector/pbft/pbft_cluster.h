/*
 * Of which cluster a replica is.
 *
 * Replicas of a cluster are started with the same file, which says who they
 * are: the first argument that is no option, by its whole path.  Its hash is
 * all that is kept.
 */
#ifndef COLLECTOR_PBFT_CLUSTER_H
#define COLLECTOR_PBFT_CLUSTER_H

#include <stdint.h>

#define PBFT_CLUSTER_MAX 9 /* bytes of a name, with its end */

/* Its name; "" where the process has no such argument, or is gone.  Reads below
 * `proc_fd`. */
void pbft_cluster(int proc_fd, int32_t pid, char out[PBFT_CLUSTER_MAX]);

#endif
