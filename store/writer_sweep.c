/*
 * What a crash leaves behind: files that were made but never named in a
 * manifest, or that a manifest does not name any more.  Only where there is
 * a manifest: without one, files are all that is left of a store.
 */
#include "writer.h"

#include "base/err.h"
#include "base/log.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is this a name that the writer gives, with a number at its end? */
static bool
sweep_ours(const char *name, uint64_t *number)
{
	static const char *const kinds[] = {"span-", "late-", "summary-",
	    "journal-", "ids-"};
	const char *last = strrchr(name, '-');
	char *end;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(name, kinds[i], strlen(kinds[i])) != 0)
			continue;
		*number = strtoull(last + 1, &end, 10);
		return end > last + 1 &&
		    (*end == '\0' || strcmp(end, ".mdb") == 0);
	}
	return false;
}

static bool
sweep_unfinished(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".tmp") == 0;
}

const struct err *
writer_sweep(struct store_writer *w)
{
	DIR *d = opendir(w->path);
	struct dirent *entry;
	uint64_t number;

	if (d == NULL)
		return err_errno("%s", w->path);
	w->sequence = w->manifest.generation * 1000;
	while ((entry = readdir(d)) != NULL) {
		const char *name = entry->d_name;
		bool ours = sweep_ours(name, &number);

		if (ours && number > w->sequence)
			w->sequence = number;
		if (!(ours && manifest_find(&w->manifest, name) == NULL) &&
		    !sweep_unfinished(name))
			continue;
		log_info("store: %s was left by a crash", name);
		unlinkat(w->dir, name, 0);
	}
	closedir(d);
	return NULL;
}
