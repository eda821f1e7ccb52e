/*
 * A BUILD file of anybody's: run with rules that do nothing.
 */
#include "fcgi/starlark/star.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
fuzz_report(struct star *s, const char *path, int line, const char *text)
{
	(void)s;
	(void)path;
	(void)line;
	(void)text;
}

static struct star_value
fuzz_rule(struct star *s, const struct star_call *c)
{
	return c->named.n > 3 ? star_unknown() : star_list(s, STAR_LIST);
}

static struct star_value
fuzz_name(struct star *s, const struct star_module *m, const char *name)
{
	(void)m;
	return name[0] == 'u' ? star_unknown()
	    : star_host(s, "rule", fuzz_rule, star_none());
}

static struct star_module *
fuzz_load(struct star *s, const struct star_module *m, int line,
    const char *label)
{
	(void)s;
	(void)m;
	(void)line;
	(void)label;
	return NULL;
}

static struct star_value
fuzz_missing(struct star *s, const char *label, const char *name)
{
	(void)label;
	return star_str(s, name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct star_ops ops = {fuzz_report, fuzz_name, fuzz_load,
	    fuzz_missing};
	struct star_module m = {.path = "BUILD"};
	struct star s;

	star_init(&s, &ops, NULL);
	s.steps = STAR_STEPS_MAX - 20000;
	star_run(&s, &m, (const char *)data, size);
	star_fini(&s);
	return 0;
}
