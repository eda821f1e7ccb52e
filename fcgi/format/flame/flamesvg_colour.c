/*
 * Colours, made in OKLCH, where equal lightness looks equally light: one
 * text colour is readable on all of them.
 */
#include <math.h>
#include <string.h>

#include "fcgi/format/flame/flamesvg.h"

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

/* The least linear value of each step of sRGB from 1 to 255: where
 * 255 * (1.055 * u^(1/2.4) - 0.055), of small u 255 * 12.92 * u, is rounded
 * to it.  A power for each of three channels takes longer. */
static const double gamma_steps[256] = {
    0x1.3e45677c176f6p-13, 0x1.dd681b3a23272p-12, 0x1.8dd6c15b1d4b4p-11,
    0x1.167cba8c94818p-10, 0x1.660e146b9a5d5p-10, 0x1.b59f6e4aa0393p-10,
    0x1.02986414d30a8p-9, 0x1.2a61110455f87p-9, 0x1.5229bdf3d8e66p-9,
    0x1.79f26ae35bd45p-9, 0x1.a1e5a03a8a4b7p-9, 0x1.cbf734477e0e9p-9,
    0x1.f8680590912c2p-9, 0x1.13a0be3e98ad6p-8, 0x1.2c4665c6bc58dp-8,
    0x1.4629793a399b2p-8, 0x1.614e60755415cp-8, 0x1.7db96ca0c99dap-8,
    0x1.9b6ed95fb6dbep-8, 0x1.ba72cde4cb5cbp-8, 0x1.dac95df18329bp-8,
    0x1.fc768ac1bd733p-8, 0x1.0fbf21f2dc48bp-7, 0x1.21f234061c55cp-7,
    0x1.34d662df32ddep-7, 0x1.486d8e075e9d6p-7, 0x1.5cb98d9e25461p-7,
    0x1.71bc32a59ad48p-7, 0x1.87774749cc7c6p-7, 0x1.9dec8f23ba5c1p-7,
    0x1.b51dc7783fa2bp-7, 0x1.cd0ca7733ec85p-7, 0x1.e5bae05f5ea9ap-7,
    0x1.ff2a1dda9da47p-7, 0x1.0cae0303fc81ep-6, 0x1.1a291cdf30864p-6,
    0x1.28072a5a9656bp-6, 0x1.3648f6d71d8d6p-6, 0x1.44ef4b4ef6b8fp-6,
    0x1.53faee688f618p-6, 0x1.636ca4889ebeep-6, 0x1.73452fe3532a8p-6,
    0x1.8385508caeef9p-6, 0x1.942dc48821f77p-6, 0x1.a53f47d76ca88p-6,
    0x1.b6ba9488d7614p-6, 0x1.c8a062c4c9087p-6, 0x1.daf168dac665p-6,
    0x1.edae5b4de330ep-6, 0x1.006bf67056983p-5, 0x1.0a3767504c7e5p-5,
    0x1.1439d7f87bcfap-5, 0x1.1e739f4abdd1dp-5, 0x1.28e5135e29debp-5,
    0x1.338e8983f0648p-5, 0x1.3e70564c063c3p-5, 0x1.498acd89a2d58p-5,
    0x1.54de4257938cdp-5, 0x1.606b071c66584p-5, 0x1.6c316d8e6dd5fp-5,
    0x1.7831c6b7a0a44p-5, 0x1.846c62f955cedp-5, 0x1.90e1920fdffcep-5,
    0x1.9d91a31608f91p-5, 0x1.aa7ce4886f087p-5, 0x1.b7a3a448c57bep-5,
    0x1.c5062fa0f9c9cp-5, 0x1.d2a4d3463e6bbp-5, 0x1.e07fdb5bfcb0fp-5,
    0x1.ee979376ae978p-5, 0x1.fcec469ea1be9p-5, 0x1.05bf1fa952341p-4,
    0x1.0d26e3c54ebe9p-4, 0x1.14ad945d08395p-4, 0x1.1c5355e946f1fp-4,
    0x1.24184ca308d87p-4, 0x1.2bfc9c84a7aedp-4, 0x1.3400694af6b4ap-4,
    0x1.3c23d67658242p-4, 0x1.4467074bcad4p-4, 0x1.4cca1ed5f04cap-4,
    0x1.554d3fe60b981p-4, 0x1.5df08d14f9171p-4, 0x1.66b428c41f9a2p-4,
    0x1.6f98351e5b03dp-4, 0x1.789cd418e0ac3p-4, 0x1.81c227741dc3p-4,
    0x1.8b0850bc8fe6cp-4, 0x1.946f714b98253p-4, 0x1.9df7aa4848998p-4,
    0x1.a7a11ca82cd66p-4, 0x1.b16be9300d4b9p-4, 0x1.bb583074add2ep-4,
    0x1.c56612db878dfp-4, 0x1.cf95b09b7e3e8p-4, 0x1.d9e729bd913dep-4,
    0x1.e45a9e1d883c8p-4, 0x1.eef02d6a9be76p-4, 0x1.f9a7f7281a9acp-4,
    0x1.02410d57049f7p-3, 0x1.07bf5b94e0389p-3, 0x1.0d4ef5cf430b1p-3,
    0x1.12efeb7311b7ap-3, 0x1.18a24bd8bbe9ep-3, 0x1.1e6626448413p-3,
    0x1.243b89e6c58e6p-3, 0x1.2a2285dc393e7p-3, 0x1.301b292e38aa5p-3,
    0x1.362582d2ffac5p-3, 0x1.3c41a1adecb79p-3, 0x1.426f948fbfc2ap-3,
    0x1.48af6a36d7de5p-3, 0x1.4f01314f6f86p-3, 0x1.5564f873d7af6p-3,
    0x1.5bdace2cb1a52p-3, 0x1.6262c0f127b37p-3, 0x1.68fcdf2724b0dp-3,
    0x1.6fa937238a68ep-3, 0x1.7667d72a66f4p-3, 0x1.7d38cd6f28febp-3,
    0x1.841c2814d30eep-3, 0x1.8b11f52e2dc6fp-3, 0x1.921a42bdf9327p-3,
    0x1.99351eb71d1f8p-3, 0x1.a06296fcd88fcp-3, 0x1.a7a2b962f040ap-3,
    0x1.aef593addc582p-3, 0x1.b65b3392f5353p-3, 0x1.bdd3a6b89f6d9p-3,
    0x1.c55efab676fe6p-3, 0x1.ccfd3d1579b02p-3, 0x1.d4ae7b5030ba7p-3,
    0x1.dc72c2d2d9a6p-3, 0x1.e44a20fb8e726p-3, 0x1.ec34a31a6d0b8p-3,
    0x1.f4325671be06bp-3, 0x1.fc4348361ab76p-3, 0x1.0233c2c7494c2p-2,
    0x1.064f8dca68078p-2, 0x1.0a750baa9e48ep-2, 0x1.0ea442e792157p-2,
    0x1.12dd39fa6c334p-2, 0x1.171ff755e9547p-2, 0x1.1b6c81666af88p-2,
    0x1.1fc2de920806ap-2, 0x1.242315389d221p-2, 0x1.288d2bb3dcb8ep-2,
    0x1.2d0128575ed21p-2, 0x1.317f1170b096ep-2, 0x1.3606ed4763a0ap-2,
    0x1.3a98c21d1d041p-2, 0x1.3f34962da4213p-2, 0x1.43da6faef137ep-2,
    0x1.488a54d13bc07p-2, 0x1.4d444bbf088cap-2, 0x1.52085a9d37af7p-2,
    0x1.56d6878b122d9p-2, 0x1.5baed8a2577adp-2, 0x1.609153f74abf6p-2,
    0x1.657dff98bfecfp-2, 0x1.6a74e190289f4p-2, 0x1.6f75ffe1a0cbcp-2,
    0x1.7481608bfb427p-2, 0x1.79970988cdfcdp-2, 0x1.7eb700cc7e40dp-2,
    0x1.83e14c464c959p-2, 0x1.8915f1e0608a4p-2, 0x1.8e54f77fd4545p-2,
    0x1.939e6304c03f7p-2, 0x1.98f23a4a45f6cp-2, 0x1.9e5083269ba33p-2,
    0x1.a3b9436b16e18p-2, 0x1.a92c80e43791ap-2, 0x1.aeaa4159b27fap-2,
    0x1.b4328a8e7be4bp-2, 0x1.b9c56240d1c5cp-2, 0x1.bf62ce2a462a9p-2,
    0x1.c50ad3ffc933ap-2, 0x1.cabd7971b30b5p-2, 0x1.d07ac42bcdb49p-2,
    0x1.d642b9d55eb88p-2, 0x1.dc15601130b23p-2, 0x1.e1f2bc7d9cba6p-2,
    0x1.e7dad4b493b29p-2, 0x1.edcdae4ba7708p-2, 0x1.f3cb4ed413cc1p-2,
    0x1.f9d3bbdac78d2p-2, 0x1.ffe6fae86d3d8p-2, 0x1.030288c0b9edep-1,
    0x1.061702930bb94p-1, 0x1.0930eda934ca4p-1, 0x1.0c504cbf2cdcbp-1,
    0x1.0f75228edec22p-1, 0x1.129f71d02c75dp-1, 0x1.15cf3d38f323ep-1,
    0x1.1904877d0f24ep-1, 0x1.1c3f534e5fea6p-1, 0x1.1f7fa35ccbe1cp-1,
    0x1.22c57a564448dp-1, 0x1.2610dae6c8f66p-1, 0x1.2961c7b86c189p-1,
    0x1.2cb8437355e5cp-1, 0x1.301450bdc8432p-1, 0x1.3375f23c225fdp-1,
    0x1.36dd2a90e443dp-1, 0x1.3a49fc5cb2567p-1, 0x1.3dbc6a3e58d7ap-1,
    0x1.413476d2cf4fep-1, 0x1.44b224b53bf62p-1, 0x1.4835767ef70a3p-1,
    0x1.4bbe6ec78e26bp-1, 0x1.4f4d1024c7885p-1, 0x1.52e15d2aa54a7p-1,
    0x1.567b586b689dp-1, 0x1.5a1b047794ed6p-1, 0x1.5dc063ddf3091p-1,
    0x1.616b792b94359p-1, 0x1.651c46ebd53f5p-1, 0x1.68d2cfa861811p-1,
    0x1.6c8f15e935e11p-1, 0x1.70511c34a3c67p-1, 0x1.7418e50f54069p-1,
    0x1.77e672fc49c8dp-1, 0x1.7bb9c87ce563fp-1, 0x1.7f92e810e7316p-1,
    0x1.8371d436725abp-1, 0x1.87568f6a0f9ddp-1, 0x1.8b411c26b009ap-1,
    0x1.8f317ce5afb41p-1, 0x1.9327b41ed8676p-1, 0x1.9723c44864499p-1,
    0x1.9b25afd7007b1p-1, 0x1.9f2d793dcfaefp-1, 0x1.a33b22ee6cbcep-1,
    0x1.a74eaf58ed2a5p-1, 0x1.ab6820ebe3af3p-1, 0x1.af877a1462b18p-1,
    0x1.b3acbd3dfebcp-1, 0x1.b7d7ecd2d0ee1p-1, 0x1.bc090b3b79646p-1,
    0x1.c0401adf219b8p-1, 0x1.c47d1e237ecd6p-1, 0x1.c8c0176cd4469p-1,
    0x1.cd09091df5b72p-1, 0x1.d157f598497d2p-1, 0x1.d5acdf3bcae8bp-1,
    0x1.da07c8670c7a6p-1, 0x1.de68b3773a1c8p-1, 0x1.e2cfa2c81b55ap-1,
    0x1.e73c98b41576cp-1, 0x1.ebaf97942dc33p-1, 0x1.f028a1c00b92cp-1,
    0x1.f4a7b98dfa6eep-1, 0x1.f92ce152ec2bap-1, 0x1.fdb81b627af93p-1, INFINITY};

static int
colour_gamma(double u)
{
	int v = 0;

	for (int step = 128; step > 0; step /= 2)
		v += u >= gamma_steps[v + step - 1] ? step : 0;
	return v;
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
