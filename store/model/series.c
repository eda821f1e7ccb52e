/*
 * Names of the closed sets, and small helpers on labels.
 */
#include "store/model/series.h"

#include <string.h>

const char *
series_kind_name(enum series_kind kind)
{
	static const char *const names[] = {
	    [SERIES_FLOW] = "flow",
	    [SERIES_STOCK] = "stock",
	    [SERIES_GAUGE] = "gauge",
	    [SERIES_COUNTER] = "counter",
	    [SERIES_HISTOGRAM] = "histogram",
	};

	if (kind < SERIES_FLOW || kind > SERIES_HISTOGRAM)
		return "unknown";
	return names[kind];
}

int64_t
series_sample_units(enum series_kind kind, const char *unit, int64_t period)
{
	bool counts = period > 1 || strcmp(unit, "samples") == 0;

	return kind == SERIES_FLOW && counts ? period : 0;
}

const char *
frame_kind_name(enum frame_kind kind)
{
	static const char *const names[] = {
	    [FRAME_NATIVE] = "native",
	    [FRAME_ADDRESS] = "address",
	    [FRAME_KERNEL] = "kernel",
	    [FRAME_BPF] = "bpf",
	    [FRAME_JIT] = "jit",
	    [FRAME_INLINED] = "inlined",
	    [FRAME_MANAGED] = "managed",
	    [FRAME_MARK] = "mark",
	};

	if (kind < FRAME_NATIVE || kind > FRAME_MARK)
		return "unknown";
	return names[kind];
}

const char *
label_find(const struct label *labels, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(labels[i].name, name) == 0)
			return labels[i].value;
	}
	return NULL;
}

int64_t
scale_factor(uint8_t scale)
{
	int64_t factor = 1;

	while (scale-- > 0)
		factor *= 10;
	return factor;
}
