/*
 * Colours, made in OKLCH, where equal lightness looks equally light: one
 * text colour is readable on all of them.
 */
#include <math.h>
#include <string.h>

#include "flamesvg.h"

struct band { /* hue from-to in degrees, and chroma */
	double hue0, hue1, chroma;
};

/* As the pages' legend has them. */
static const struct band kinds[] = {
    [FLAME_USER] = {52, 88, 0.125},
    [FLAME_LIBRARY] = {150, 190, 0.085},
    [FLAME_KERNEL] = {242, 275, 0.095},
    [FLAME_JIT] = {310, 345, 0.105},
    [FLAME_UNKNOWN] = {80, 80, 0.008},
};
static const struct band inlined = {100, 122, 0.11};

#define LIGHT0 0.80
#define LIGHT1 0.88

static uint32_t
colour_hash(const char *s)
{
	uint32_t h = 0x811c9dc5;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 0x01000193;
	h = (h ^ h >> 15) * 0x2c1b3c6d;
	return h ^ h >> 13;
}

static int
colour_gamma(double u)
{
	u = u <= 0.0031308 ? 12.92 * u : 1.055 * pow(u, 1 / 2.4) - 0.055;
	return (int)lround(255 * (u < 0 ? 0 : u > 1 ? 1 : u));
}

static double
colour_cube(double x)
{
	return x * x * x;
}

/* OKLCH to sRGB, with the matrices that Ottosson published.  A picture has
 * thousands of names, and each comes here. */
static void
colour_oklch(double light, double chroma, double degrees, char text[8])
{
	static const char hex[] = "0123456789abcdef";
	double a = chroma * cos(degrees * M_PI / 180);
	double b = chroma * sin(degrees * M_PI / 180);
	double p = colour_cube(light + 0.3963377774 * a + 0.2158037573 * b);
	double q = colour_cube(light - 0.1055613458 * a - 0.0638541728 * b);
	double r = colour_cube(light - 0.0894841775 * a - 1.2914855480 * b);
	int rgb[] = {
	    colour_gamma(4.0767416621 * p - 3.3077115913 * q +
	        0.2309699292 * r),
	    colour_gamma(-1.2684380046 * p + 2.6097574011 * q -
	        0.3413193965 * r),
	    colour_gamma(-0.0041960863 * p - 0.7034186147 * q +
	        1.7076147010 * r),
	};

	memcpy(text, "#......", 8);
	for (size_t i = 0; i < 3; i++) {
		text[1 + 2 * i] = hex[rgb[i] >> 4 & 15];
		text[2 + 2 * i] = hex[rgb[i] & 15];
	}
}

static void
colour_in_band(const char *name, const struct band *band, char text[8])
{
	uint32_t h = colour_hash(name);
	double u = (h & 0xffff) / 65535.0, v = (h >> 16) / 65535.0;

	colour_oklch(LIGHT0 + (LIGHT1 - LIGHT0) * v, band->chroma,
	    band->hue0 + (band->hue1 - band->hue0) * u, text);
}

void
flamesvg_colour(const char *name, enum flame_kind kind, char text[8])
{
	colour_in_band(name, &kinds[kind], text);
}

void
flamesvg_colour_inlined(const char *name, char text[8])
{
	colour_in_band(name, &inlined, text);
}

void
flamesvg_colour_change(double change, bool faint, char text[8])
{
	double size = fabs(change) < 1 ? fabs(change) : 1;

	/* the eye has to see a tenth, and to tell a half from all */
	size = sqrt(size) * (faint ? 0.4 : 1);
	colour_oklch(0.945 - 0.175 * size, (change > 0 ? 0.155 : 0.125) * size,
	    change > 0 ? 62 : 248, text);
}
