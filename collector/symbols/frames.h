/*
 * Frames by number: the resolved frames of the CPU profiler, each once.
 * Numbers stay valid until frames_clear().
 */
#ifndef COLLECTOR_FRAMES_H
#define COLLECTOR_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/model/series.h"

#define FRAMES_NONE UINT32_MAX

struct frames;

/* At most `max` frames and max_bytes of names.  NULL when out of memory. */
struct frames *frames_new(uint32_t max, size_t max_bytes);
void frames_free(struct frames *f);
void frames_clear(struct frames *f);

/* The number of a frame, made when new; FRAMES_NONE when there is no room.
 * Strings are copied. */
uint32_t frames_add(struct frames *f, const struct frame *frame);

/* Strings are valid until the next frames_add() or frames_clear(). */
struct frame frames_get(const struct frames *f, uint32_t number);

/* Where its function was written, "" at first.  The text is copied; false
 * when there is no room.  Valid as the strings above. */
bool frames_set_place(struct frames *f, uint32_t number, const char *place);
const char *frames_place(const struct frames *f, uint32_t number);

size_t frames_count(const struct frames *f);
size_t frames_bytes(const struct frames *f);
/* Is it so full that the owner should clear it when it can? */
bool frames_crowded(const struct frames *f);

#endif
