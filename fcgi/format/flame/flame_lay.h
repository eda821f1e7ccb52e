/*
 * Between flame.c and flame_stacks.c: the frames of stacks, which are placed
 * when they are asked for.
 */
#ifndef FCGI_FORMAT_FLAME_LAY_H
#define FCGI_FORMAT_FLAME_LAY_H

struct lay;

void lay_free(struct lay *l); /* NULL is fine */

#endif
