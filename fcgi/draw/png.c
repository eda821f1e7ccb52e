/*
 * Nothing but the bytes given is read: a handle without a base address
 * follows no reference to a file.
 */
#include "fcgi/draw/png.h"

#include <cairo.h>
#include <librsvg/rsvg.h>
#include <math.h>

#include "store/base/buf.h"
#include "store/base/err.h"

static cairo_status_t
png_write(void *arg, const unsigned char *p, unsigned n)
{
	struct buf *out = arg;

	buf_put(out, p, n);
	return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

/* GLib's error as ours, which frees it. */
static const struct err *
png_error(GError *g)
{
	const struct err *e = err_new(ERR_FORMAT, 0, "librsvg: %s",
	    g != NULL ? g->message : "no reason given");

	g_clear_error(&g);
	return e;
}

static const struct err *
png_draw(RsvgHandle *h, double width, double height, int scale,
    struct buf *out)
{
	RsvgRectangle all = {0, 0, width * scale, height * scale};
	cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_RGB24,
	    (int)all.width, (int)all.height);
	cairo_t *c = cairo_create(s);
	const struct err *e = NULL;
	cairo_status_t status;
	GError *g = NULL;

	/* what the SVG leaves open is paper */
	cairo_set_source_rgb(c, 1, 1, 1);
	cairo_paint(c);
	if (!rsvg_handle_render_document(h, c, &all, &g))
		e = png_error(g);
	else if ((status = cairo_status(c)) != CAIRO_STATUS_SUCCESS ||
	    (status = cairo_surface_write_to_png_stream(s, png_write,
	    out)) != CAIRO_STATUS_SUCCESS)
		e = err_new(ERR_FORMAT, 0, "cairo: %s",
		    cairo_status_to_string(status));
	cairo_destroy(c);
	cairo_surface_destroy(s);
	return e;
}

static RsvgHandle *
png_read(const struct buf *svg, GError **g)
{
	/* UNLIMITED: the XML parser's own bounds are for strangers' files */
	GInputStream *in = g_memory_input_stream_new_from_data(svg->data,
	    (gssize)svg->len, NULL);
	RsvgHandle *h = rsvg_handle_new_from_stream_sync(in, NULL,
	    RSVG_HANDLE_FLAG_UNLIMITED, NULL, g);

	g_object_unref(in);
	return h;
}

const struct err *
png_put(struct buf *out, const struct buf *svg, int scale)
{
	GError *g = NULL;
	RsvgHandle *h = png_read(svg, &g);
	double width = 0, height = 0;
	const struct err *e;

	if (h == NULL)
		return png_error(g);
	rsvg_handle_set_dpi(h, 96);
	if (!rsvg_handle_get_intrinsic_size_in_pixels(h, &width, &height) ||
	    width < 1 || height < 1)
		e = err_new(ERR_FORMAT, 0, "the SVG has no size in pixels");
	else if (width * height * scale * scale > PNG_PIXELS_MAX)
		e = err_new(ERR_LIMIT, 0, "%.0f x %.0f pixels are more than "
		    "%u", width * scale, height * scale, PNG_PIXELS_MAX);
	else
		e = png_draw(h, ceil(width), ceil(height), scale, out);
	g_object_unref(h);
	return e;
}
