/*
 * The file of a mapping: the number under which it is known to those who name
 * its functions and to those who walk through its frames, opened no more often
 * than they need it.
 */
#ifndef COLLECTOR_CODE_H
#define COLLECTOR_CODE_H

#include <stdint.h>

struct engine;
struct mapping;
struct maps_process;

/* Finds out, once, which file the mapping is of: sets map->file. */
void code_identify(struct engine *s, struct maps_process *p,
    struct mapping *map);

/* Hands the file to the symbols child when it needs it. */
void code_offer(struct engine *s, struct maps_process *p,
    struct mapping *map);

/* The file's table of unwind rows, which is it until the next call of
 * unwind_tables_get(); UNWIND_NO_TABLE without a file, UNWIND_NO_ROOM. */
uint32_t code_table(struct engine *s, struct maps_process *p,
    struct mapping *map);

/* Gives a descriptor of the file to what waits for its rows. */
void code_offer_rows(struct engine *s, struct maps_process *p,
    struct mapping *map);

#endif
