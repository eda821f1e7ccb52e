/*
 * Nothing but the bytes given is read: a handle without a base address
 * follows no reference to a file.
 */
#include "fcgi/format/out/png.h"

#include <cairo.h>
#include <librsvg/rsvg.h>
#include <math.h>

#include "store/base/buf.h"

static cairo_status_t
png_write(void *arg, const unsigned char *p, unsigned n)
{
	struct buf *out = arg;

	buf_put(out, p, n);
	return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static bool
png_draw(RsvgHandle *h, double width, double height, int scale,
    struct buf *out)
{
	RsvgRectangle all = {0, 0, width * scale, height * scale};
	cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24,
	    (int)all.width, (int)all.height);
	cairo_t *c = cairo_create(s);
	bool drawn;

	/* what the SVG leaves open is paper */
	cairo_set_source_rgb(c, 1, 1, 1);
	cairo_paint(c);
	drawn = rsvg_handle_render_document(h, c, &all, NULL) &&
	    cairo_status(c) == CAIRO_STATUS_SUCCESS &&
	    cairo_surface_write_to_png_stream(s, png_write, out) ==
	    CAIRO_STATUS_SUCCESS;
	cairo_destroy(c);
	cairo_surface_destroy(s);
	return drawn;
}

static RsvgHandle *
png_read(const uint8_t *svg, size_t n)
{
	/* UNLIMITED: the XML parser's own bounds are for strangers' files */
	GInputStream *in = g_memory_input_stream_new_from_data(svg,
	    (gssize)n, NULL);
	RsvgHandle *h = rsvg_handle_new_from_stream_sync(in, NULL,
	    RSVG_HANDLE_FLAG_UNLIMITED, NULL, NULL);

	g_object_unref(in);
	return h;
}

bool
png_put(struct buf *out, const uint8_t *svg, size_t n, int scale)
{
	RsvgHandle *h = png_read(svg, n);
	double width = 0, height = 0;
	bool drawn = false;

	if (h == NULL)
		return false;
	rsvg_handle_set_dpi(h, 96);
	if (rsvg_handle_get_intrinsic_size_in_pixels(h, &width, &height) &&
	    width >= 1 && height >= 1 &&
	    width * height * scale * scale <= PNG_PIXELS_MAX)
		drawn = png_draw(h, ceil(width), ceil(height), scale, out);
	g_object_unref(h);
	return drawn;
}
