/*
 * What surrounds a pushed profile: names, times, forms, JSON messages and
 * selectors in Pyroscope's languages.  The first byte says which.
 */
#include <stdlib.h>
#include <string.h>

#include "fcgi/format/arena.h"
#include "fcgi/format/protojson.h"
#include "fcgi/format/stacks.h"
#include "fcgi/format/writer.h"
#include "fcgi/push/ingest_pprof.h"
#include "fcgi/pyroscope/appname.h"
#include "fcgi/pyroscope/attime.h"
#include "fcgi/pyroscope/flameql.h"
#include "store/base/buf.h"
#include "store/base/err.h"
#include "store/model/typeid.h"
#include "store/store.h"

/* of connect.pb-c.h, which is generated */
extern const ProtobufCMessageDescriptor connect__push_request__descriptor,
    connect__diff_request__descriptor,
    connect__select_series_request__descriptor;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
name(const char *text)
{
	struct appname a;

	if (appname_parse(&a, text) == NULL) {
		appname_suffix(a.service);
		appname_cut(&a);
	}
	appname_free(&a);
}

static void
query(const char *text)
{
	const char *brace = strchr(text, '{');
	struct flameql q;

	flameql_parse_id(&q, "", brace != NULL ? brace : "");
	flameql_free(&q);
	flameql_parse_id(&q, "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
	    brace != NULL ? brace : "");
	flameql_free(&q);
}

static void
json(const char *text, size_t n)
{
	struct arena a;
	ProtobufCMessage *m;
	struct buf out = {0};
	struct writer w = writer_of(&out);

	arena_init(&a, 1 << 20);
	if (protojson_parse(&a, &connect__push_request__descriptor, text, n,
	    &m) == NULL)
		protojson_put(&w, m);
	if (protojson_parse(&a, &connect__diff_request__descriptor, text, n,
	    &m) == NULL)
		protojson_put(&w, m);
	if (protojson_parse(&a, &connect__select_series_request__descriptor,
	    text, n, &m) == NULL)
		protojson_put(&w, m);
	arena_fini(&a);
	buf_fini(&out);
}

static void
form(const char *text, size_t n)
{
	struct stacks *s = stacks_new(&stacks_limits_push);

	ingest_pprof_form(&s, "multipart/form-data; boundary=XX", text, n,
	    true);
	stacks_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct typeid id;
	int64_t ns;
	char *text;

	if (size == 0 || size > 1 << 16 ||
	    (text = malloc(size)) == NULL)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 6) {
	case 0:
		name(text);
		break;
	case 1:
		if (attime_parse(text, 1700000000000000000, &ns) == NULL &&
		    ns < 0)
			abort();
		break;
	case 2:
		query(text);
		break;
	case 3:
		json(text, size - 1);
		break;
	case 4:
		form(text, size - 1);
		break;
	default:
		typeid_parse(&id, text);
		typeid_of(&id, text, text);
	}
	free(text);
	return 0;
}
