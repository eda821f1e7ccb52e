/*
 * Is a sealed file the one that the manifest means? A copy under another name
 * reads well, and would count twice.
 */
#include <sys/stat.h>

#include "store/base/err.h"
#include "store/file/manifest.h"
#include "store/file/sealed.h"

const struct err *
sealed_check(const struct sealed *f, int dir,
    const struct manifest_file *entry)
{
	const struct sealed_meta *m = &f->meta;
	enum manifest_kind kind;
	uint64_t number;
	struct stat st;

	if (m->number != 0 && manifest_name_is(entry->name, &kind, &number) &&
	    number != m->number)
		return err_new(ERR_FORMAT, 0, "it is a copy of file %llu",
		    (unsigned long long)m->number);
	if (m->first != entry->first || m->slots != entry->slots ||
	    m->top < entry->level)
		return err_new(ERR_FORMAT, 0,
		    "its span is not what the manifest says");
	if (m->until != entry->until)
		return err_new(ERR_FORMAT, 0,
		    "its newest slot is not the manifest's");
	if (fstatat(dir, entry->name, &st, 0) != 0)
		return err_errno("%s", entry->name);
	if ((uint64_t)st.st_size != entry->bytes)
		return err_new(ERR_FORMAT, 0,
		    "%llu bytes, the manifest says %llu",
		    (unsigned long long)st.st_size,
		    (unsigned long long)entry->bytes);
	return NULL;
}
