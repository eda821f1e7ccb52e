/*
 * Which parts of an array that BPF programs read are in use.  A part that
 * was given back rests for a while before it is used again, so that no
 * program that found the way to it still reads there.
 */
#ifndef COLLECTOR_EXTENTS_H
#define COLLECTOR_EXTENTS_H

#include <stdint.h>

#include "store/base/clock.h"

#define EXTENTS_NONE UINT32_MAX

/* What a program has found it may use within the second of the clock, and the
 * time that we are told is as late as our work has been. */
#define EXTENTS_REST_NS (2 * NS_PER_S)

struct extents;

/* All n elements are free.  NULL when out of memory. */
struct extents *extents_new(uint32_t n);
void extents_free(struct extents *x);

/* The size of the smallest gap of n or more elements, EXTENTS_NONE when there
 * is none. */
uint32_t extents_fit(struct extents *x, uint32_t n, int64_t now_ns);

/* The first of n > 0 elements in a row, of the smallest gap that has so many;
 * EXTENTS_NONE when there is none. */
uint32_t extents_take(struct extents *x, uint32_t n, int64_t now_ns);

/* Gives back exactly what was taken. */
void extents_give(struct extents *x, uint32_t first, uint32_t n,
    int64_t now_ns);

/* Takes back what has rested long enough; so do the two that look for gaps. */
void extents_wake(struct extents *x, int64_t now_ns);

/* Elements in use, those that rest among them. */
uint32_t extents_used(const struct extents *x);

#endif
