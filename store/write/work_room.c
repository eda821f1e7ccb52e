/*
 * What merging takes into memory are the names of its files: how much of that
 * there is, and who may have it.
 */
#include <stdlib.h>

#include "store/write/work.h"

/* What the names of all files that one step takes may need. */
#define ROOM_NAMES (16u << 20)

/* Of a file itself; those of before do not say. */
static uint64_t
room_ask(struct store_writer *w, const struct manifest_file *f)
{
	struct sealed *file;
	uint64_t names = 0;
	char path[4200];

	work_path(w, f->name, path, sizeof(path));
	if (sealed_open_nameless(&file, path) == NULL) {
		names = file->meta.names;
		sealed_close(file);
	}
	if (names == 0 && sealed_open(&file, path) == NULL) {
		names = sealed_bytes(file);
		sealed_close(file);
	}
	return names > 0 ? names : 1; /* merging finds what is wrong */
}

void
work_know_names(struct store_writer *w)
{
	for (uint32_t i = 0; i < w->manifest.n; i++) {
		struct manifest_file *f = &w->manifest.files[i];

		if (f->names == 0 && f->kind != MANIFEST_JOURNAL &&
		    f->kind != MANIFEST_IDS)
			f->names = room_ask(w, f);
	}
}

struct work_room
work_room(const struct store_writer *w, const struct manifest_file *first)
{
	struct work_room room = {w->options.merge_bytes > 0
	        ? w->options.merge_bytes : ROOM_NAMES, true};

	if (first != NULL && first->name[0] != '\0')
		work_room_takes(&room, first->names);
	return room;
}

/* The first one always: it stays as large as it is. */
bool
work_room_takes(struct work_room *room, uint64_t names)
{
	bool fits = room->first || names <= room->left;

	if (!fits)
		return false;
	room->left -= names < room->left ? names : room->left;
	room->first = false;
	return true;
}
