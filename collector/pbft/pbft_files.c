/*
 * Programs whose functions are probed: one at a time is looked into.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/config.h"
#include "collector/pbft/pbft_private.h"
#include "store/base/err.h"

static bool
file_is(const struct pbft_file *f, const struct stat *st)
{
	return f->state != FILE_FREE && f->dev == st->st_dev &&
	    f->ino == st->st_ino && f->size == st->st_size &&
	    f->changed.tv_sec == st->st_mtim.tv_sec &&
	    f->changed.tv_nsec == st->st_mtim.tv_nsec;
}

void
pbft_file_free(struct pbft *p, uint32_t i)
{
	struct pbft_file *f = &p->files[i];

	if (f->state == FILE_LOOKED)
		pbft_find_drop(&p->find);
	if (f->state == FILE_ATTACHED)
		pbft_probe_detach(p->probe, i);
	if (f->state == FILE_NEW || f->state == FILE_LOOKED)
		close(f->fd);
	*f = (struct pbft_file){0};
}

uint32_t
pbft_file_of(struct pbft *p, int fd, const char *comm)
{
	uint32_t i = 0, room = PBFT_FILES;
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return PBFT_FILES;
	}
	for (; i < PBFT_FILES && !file_is(&p->files[i], &st); i++)
		if (p->files[i].state == FILE_FREE && room == PBFT_FILES)
			room = i;
	if (i < PBFT_FILES || room == PBFT_FILES) {
		close(fd);
		p->crowded = p->crowded || i == PBFT_FILES;
		return i;
	}
	p->files[room] = (struct pbft_file){FILE_NEW, fd, st.st_dev,
	    st.st_ino, st.st_size, st.st_mtim, true, "", ""};
	snprintf(p->files[room].name, sizeof(p->files[room].name), "%s",
	    comm);
	return room;
}

static void
file_refuse(struct pbft_file *f, const char *why)
{
	close(f->fd);
	f->state = FILE_REFUSED;
	snprintf(f->why, sizeof(f->why), "%s", why);
}

static const struct err *
file_attach(struct pbft *p, uint32_t i, const struct pbft_found *found)
{
	const struct err *e = NULL;

	if (p->probe == NULL)
		e = pbft_probe_open(&p->probe, p->config->slot_ns);
	return e != NULL ? e : pbft_probe_attach(p->probe, i,
	    p->files[i].fd, found->offsets);
}

static void
file_found(struct pbft *p, const struct pbft_found *found)
{
	struct pbft_file *f = &p->files[p->looked];
	const struct err *e;

	if (found->why[0] != '\0') {
		file_refuse(f, found->why);
		return;
	}
	e = file_attach(p, p->looked, found);
	if (e != NULL) {
		file_refuse(f, e->text);
		return;
	}
	close(f->fd);
	f->state = FILE_ATTACHED;
	p->look_ns = 0; /* its processes are counted at once */
}

void
pbft_files_look(struct pbft *p)
{
	struct pbft_found found;
	const struct err *e;

	if (p->find.pid != 0) {
		if (pbft_find_end(&p->find, &found))
			file_found(p, &found);
		return;
	}
	for (p->looked = 0; p->looked < PBFT_FILES; p->looked++)
		if (p->files[p->looked].state == FILE_NEW)
			break;
	if (p->looked == PBFT_FILES)
		return;
	e = pbft_find_begin(&p->find, p->files[p->looked].fd);
	if (e != NULL)
		file_refuse(&p->files[p->looked], e->text);
	else
		p->files[p->looked].state = FILE_LOOKED;
}
