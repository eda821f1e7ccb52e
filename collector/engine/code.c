/*
 * Files are told apart by their inodes, once for each mapping: their tables are
 * found by what the symbols know of them.
 */
#include "collector/engine/code.h"

#include <sys/stat.h>
#include <unistd.h>

#include "collector/engine/engine.h"
#include "collector/unwind/unwind_tables.h"

void
code_identify(struct engine *s, struct maps_process *p, struct mapping *map)
{
	int fd;

	if (map->tried)
		return;
	map->tried = true;
	map->file = MAPS_NO_FILE;
	if (map->kind == MAPPING_VDSO)
		map->file = symbols_vdso(s->symbols);
	if (map->kind != MAPPING_FILE)
		return;
	fd = maps_open(s->maps, p, map);
	if (fd < 0)
		return;
	map->file = symbols_file(s->symbols, fd, maps_process_name(p, map));
	close(fd);
}

void
code_offer(struct engine *s, struct maps_process *p, struct mapping *map)
{
	int fd;

	if (map->kind != MAPPING_FILE || !symbols_wants(s->symbols, map->file))
		return;
	fd = maps_open(s->maps, p, map);
	if (fd < 0)
		return;
	symbols_load(s->symbols, map->file, fd);
	close(fd);
}

static uint32_t
code_get_table(struct engine *s, struct maps_process *p, struct mapping *map)
{
	bool vdso = map->kind == MAPPING_VDSO;
	int fd = vdso ? symbols_vdso_fd(s->symbols) :
	    maps_open(s->maps, p, map);
	uint32_t table = UNWIND_NO_TABLE;

	if (fd < 0)
		return table;
	table = unwind_tables_get(s->tables, fd, s->now_ns);
	unwind_tables_drop(s->tables, table);
	if (!vdso)
		close(fd);
	return table;
}

uint32_t
code_table(struct engine *s, struct maps_process *p, struct mapping *map)
{
	uint32_t table;
	struct stat st;

	code_identify(s, p, map);
	if (map->file == MAPS_NO_FILE)
		return UNWIND_NO_TABLE;
	symbols_identity(s->symbols, map->file, &st);
	table = unwind_tables_find(s->tables, &st);
	return table != UNWIND_NO_TABLE ? table : code_get_table(s, p, map);
}

void
code_offer_rows(struct engine *s, struct maps_process *p, struct mapping *map)
{
	code_get_table(s, p, map);
}
