/*
 * Reads the arguments of a replica and the folder in which it works.
 */
#include "collector/pbft/pbft_cluster.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/readfile.h"
#include "store/base/intern.h"

void
pbft_cluster(int proc_fd, int32_t pid, char out[PBFT_CLUSTER_MAX])
{
	char path[32], text[4096], cwd[4096];
	const char *at = text;
	uint64_t hash = 1;
	ssize_t n, k;

	out[0] = '\0';
	snprintf(path, sizeof(path), "%d/cmdline", pid);
	if ((n = readfile_at(proc_fd, path, text, sizeof(text))) <= 0)
		return;
	do
		at += strlen(at) + 1;
	while (at < text + n && *at == '-');
	if (at >= text + n)
		return;
	snprintf(path, sizeof(path), "%d/cwd", pid);
	if (*at != '/' &&
	    (k = readlinkat(proc_fd, path, cwd, sizeof(cwd))) > 0)
		hash = hash64(hash64(hash, cwd, (size_t)k), "/", 1);
	hash = hash64(hash, at, strlen(at));
	snprintf(out, PBFT_CLUSTER_MAX, "%08x", (uint32_t)hash);
}
