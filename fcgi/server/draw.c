/*
 * What memlens-draw is called with, and how much it may take.
 */
#include "fcgi/server/draw.h"

#include <stdio.h>

#include "fcgi/server/child.h"
#include "fcgi/server/respond.h"
#include "store/base/clock.h"

const struct err *
draw_png(const char *program, const struct buf *svg, int scale,
    struct buf *out)
{
	static const struct child_limits limits = {15 * NS_PER_S, 1u << 30,
	    RESPONSE_BODY_MAX};
	char number[12];
	const char *const argv[] = {program, "-s", number, "png", NULL};

	snprintf(number, sizeof(number), "%d", scale);
	return child_exec("drawing the picture", &limits, argv, svg, out);
}

const struct err *
draw_graph(const char *program, const struct buf *dot, struct buf *out)
{
	static const struct child_limits limits = {15 * NS_PER_S, 512u << 20,
	    16u << 20};
	const char *const argv[] = {program, "graph", NULL};

	return child_exec("drawing the graph", &limits, argv, dot, out);
}
