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
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	enum manifest_kind kind;
	uint64_t number;

	if (d == NULL)
		return err_errno("%s", w->path);
	w->sequence = w->manifest.generation * 1000;
	while ((entry = readdir(d)) != NULL) {
		const char *name = entry->d_name;
		bool ours = manifest_name_is(name, &kind, &number);

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

/* What a crash left before there was a manifest is empty. */
static bool
sweep_is_empty(const struct store_writer *w, const char *name)
{
	struct stat st;

	return fstatat(w->dir, name, &st, 0) == 0 && st.st_size == 0;
}

const struct err *
writer_refuse_remains(struct store_writer *w)
{
	DIR *d = opendir(w->path);
	char names[160] = "";
	enum manifest_kind kind;
	struct dirent *entry;
	uint64_t number;
	size_t n = 0;

	if (d == NULL)
		return err_errno("%s", w->path);
	while ((entry = readdir(d)) != NULL) {
		size_t at = strlen(names);

		if (!manifest_name_is(entry->d_name, &kind, &number))
			continue;
		if (sweep_is_empty(w, entry->d_name))
			unlinkat(w->dir, entry->d_name, 0);
		else if (n++ < 3)
			snprintf(names + at, sizeof(names) - at, "%s%.50s",
			    n > 1 ? ", " : "", entry->d_name);
	}
	closedir(d);
	if (n == 0)
		return NULL;
	return err_new(ERR_FORMAT, 0, "there is no manifest, but %zu files of "
	    "a store (%s%s)", n, names, n > 3 ? ", ..." : "");
}
