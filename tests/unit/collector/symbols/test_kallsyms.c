/*
 * Kernel symbols from a text of the kernel's form.
 */
#include <stdlib.h>
#include <unistd.h>

#include "collector/symbols/kallsyms.h"
#include "collector/symbols/symbols.h"
#include "store/base/clock.h"
#include "store/base/err.h"
#include "tests/unit/test.h"

static struct kallsyms *
open_text(const char *text)
{
	char path[] = "/tmp/test_kallsyms.XXXXXX";
	int fd = mkstemp(path);
	struct kallsyms *k = NULL;

	CHECK(fd >= 0 && write(fd, text, strlen(text)) ==
	    (ssize_t)strlen(text));
	CHECK_OK(kallsyms_open(&k, path));
	close(fd);
	unlink(path);
	return k;
}

static const char table[] =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000100 t do_idle\n"
    "ffffffff81000200 D not_code\n"
    "ffffffff81000300 W weak_one\n"
    "ffffffffc0100000 t ext4_read\t[ext4]\n"
    "ffffffffc0100080 t ext4_write\t[ext4]\n"
    "ffffffffc0200000 t bpf_prog_1234_cpu_sample\t[bpf]\n"
    "ffffffffc0000000 t early\t[virtio]\n"
    "garbage\n"
    "\n";

TEST(lookup)
{
	static const struct {
		uint64_t addr;
		const char *name, *module;
		enum frame_kind kind;
		bool found;
	} cases[] = {
	    {0xffffffff81000000, "_stext", "[kernel]", FRAME_KERNEL, true},
	    {0xffffffff810000ff, "_stext", "[kernel]", FRAME_KERNEL, true},
	    {0xffffffff81000100, "do_idle", "[kernel]", FRAME_KERNEL, true},
	    {0xffffffff810002ff, "do_idle", "[kernel]", FRAME_KERNEL, true},
	    {0xffffffff81000301, "weak_one", "[kernel]", FRAME_KERNEL, true},
	    {0xffffffffc0000010, "early", "[virtio]", FRAME_KERNEL, true},
	    {0xffffffffc010007f, "ext4_read", "[ext4]", FRAME_KERNEL, true},
	    {0xffffffffc0100080, "ext4_write", "[ext4]", FRAME_KERNEL, true},
	    {0xffffffffc0200010, "bpf_prog_1234_cpu_sample", "[bpf]",
	        FRAME_BPF, true},
	    /* between the regions, before and behind them */
	    {0xffffffff90000000, "[kernel]", "[kernel]", FRAME_KERNEL, false},
	    {0xffffffff80000000, "[kernel]", "[kernel]", FRAME_KERNEL, false},
	    {0xffffffffc0210000, "[kernel]", "[kernel]", FRAME_KERNEL, false},
	    {0, "[kernel]", "[kernel]", FRAME_KERNEL, false}};
	struct kallsyms *k = open_text(table);
	struct frame f;
	size_t i;

	CHECK_INT(kallsyms_count(k), 7);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(kallsyms_lookup(k, cases[i].addr, &f),
		    cases[i].found);
		CHECK_STR(f.name, cases[i].name);
		CHECK_STR(f.module, cases[i].module);
		CHECK_INT(f.kind, cases[i].kind);
		CHECK_INT(f.offset, 0);
	}
	kallsyms_close(k);
}

/* kernel.kptr_restrict: every address is 0. */
TEST(hidden)
{
	struct kallsyms *k = open_text("0000000000000000 T _stext\n"
	    "0000000000000000 t do_idle\n");
	struct frame f;

	CHECK_INT(kallsyms_count(k), 0);
	CHECK(!kallsyms_lookup(k, 0xffffffff81000000, &f));
	CHECK_STR(f.name, "[kernel]");
	kallsyms_close(k);
}

/* Names as kernels have them: of words that others have, in no order, beside
 * aliases, over more than one mark. */
TEST(many)
{
	enum { N = 5000, STEP = 0x30 };
	static const char *const words[] = {"", "ext4", "do", "file", "x"};
	static char names[N][64], text[N * 100];
	uint64_t base = 0xffffffff81000000;
	struct kallsyms *k;
	struct frame f;
	size_t len = 0;

	for (unsigned i = 0; i < N; i++) {
		unsigned at = i * 2741 % N; /* each once */

		snprintf(names[at], sizeof(names[at]), "%s_%s%s%u__%s",
		    words[at % 5], words[at / 5 % 5], at % 7 ? "_" : ".",
		    at % 300, words[at / 25 % 5]);
		for (unsigned alias = 0; alias < 1 + at % 2; alias++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
			    "%llx t %s%s\n", (unsigned long long)(base +
			    (uint64_t)at * STEP), alias ? "__alias_" : "",
			    names[at]);
	}
	k = open_text(text);
	CHECK_INT(kallsyms_count(k), N);
	for (unsigned i = 0; i < N * STEP; i += 7) {
		CHECK(kallsyms_lookup(k, base + i, &f));
		CHECK_STR(f.name, names[i / STEP]);
	}
	CHECK(!kallsyms_lookup(k, base - 1, &f));
	kallsyms_close(k);
}

/* Functions begin with pads that have names, too; others' names at the same
 * addresses stay what they are. */
TEST(pads)
{
	static const struct {
		uint64_t addr;
		const char *name;
	} cases[] = {
	    {0xffffffff81000008, "marker"}, {0xffffffff81000010, "first"},
	    {0xffffffff810000f0, "second"}, {0xffffffff81000100, "second"},
	    {0xffffffff810001f0, "third"}, {0xffffffff81000200, "fourth"},
	    {0xffffffff81001000, "far"}, {0xffffffff81001210, "far"},
	    {0xffffffffc0100000, "__pfx_mod"}, {0xffffffffc0100010, "mod"}};
	struct kallsyms *k = open_text("ffffffff81000000 T marker\n"
	    "ffffffff81000000 t __pfx_first\n"
	    "ffffffff81000010 t first\n"
	    "ffffffff810000f0 t __pfx_second\n"
	    "ffffffff81000100 t second\n"
	    "ffffffff81000100 T other_name_of_second\n"
	    "ffffffff810001f0 t __pfx_third\n"
	    "ffffffff810001f0 t __pfx_fourth\n"
	    "ffffffff81000200 t fourth\n"
	    "ffffffff81000200 t third\n"
	    "ffffffff81001000 t __pfx_far\n"
	    "ffffffff81001200 t far\n"
	    "ffffffffc0100010 t mod\t[mod]\n"
	    "ffffffffc0100000 t __pfx_mod\t[mod]\n");
	struct frame f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(kallsyms_lookup(k, cases[i].addr, &f));
		CHECK_STR(f.name, cases[i].name);
	}
	CHECK_INT(kallsyms_count(k), 9);
	kallsyms_close(k);
}

TEST(missing)
{
	struct kallsyms *k;

	CHECK(kallsyms_open(&k, "/nowhere/kallsyms") != NULL);
	CHECK(k == NULL);
}

/* Where its own unwind tables are, and code that these know no way out of. */
TEST(tables_of_the_kernel)
{
	struct unwind_orc orc;
	struct kallsyms *k = open_text("ffffffff82204bc0 T "
	    "__x86_indirect_thunk_array\n"
	    "ffffffff82204bc0 T __x86_indirect_thunk_rax\n"
	    "ffffffff82300000 T other\n"
	    "ffffffff83000000 R __start_orc_unwind_ip\n"
	    "ffffffff83000400 R __start_orc_unwind\n"
	    "ffffffff83000400 R __stop_orc_unwind_ip\n"
	    "ffffffffc0000000 r __start_orc_unwind\t[theirs]\n");

	orc = kallsyms_orc(k);
	CHECK(orc.thunks == 0xffffffff82204bc0);
	CHECK(orc.ips == 0xffffffff83000000);
	CHECK(orc.ips_end == 0xffffffff83000400);
	CHECK(orc.rows == 0xffffffff83000400);
	CHECK_INT(kallsyms_count(k), 2);
	kallsyms_close(k);
	k = open_text("ffffffff82300000 T other\n");
	orc = kallsyms_orc(k);
	CHECK(orc.thunks == 0 && orc.rows == 0);
	kallsyms_close(k);
}

/* A program that was loaded after the names were read stood under that of the
 * one before it. */
TEST(programs_that_are_loaded_later)
{
	static const char first[] = "ffffffff81000000 T _stext\n"
	    "ffffffffc0200000 t bpf_prog_1_first\t[bpf]\n";
	static const char then[] =
	    "ffffffffc0200800 t bpf_prog_2_then\t[bpf]\n";
	char path[] = "/tmp/test_programs.XXXXXX";
	int fd = mkstemp(path);
	uint64_t addr = 0xffffffffc0200810;
	struct symbols *s;

	CHECK(write(fd, first, sizeof(first) - 1) ==
	    (ssize_t)sizeof(first) - 1);
	CHECK_OK(symbols_new(&s, path, NULL));
	CHECK_STR(symbols_get(s, symbols_kernel(s, addr, 0)).name,
	    "bpf_prog_1_first");
	CHECK(write(fd, then, sizeof(then) - 1) == (ssize_t)sizeof(then) - 1);
	symbols_trim(s, clock_mono_ns() + NS_PER_S);
	CHECK_STR(symbols_get(s, symbols_kernel(s, addr, 0)).name,
	    "bpf_prog_1_first"); /* not each time */
	symbols_trim(s, clock_mono_ns() + 11 * NS_PER_S);
	CHECK_STR(symbols_get(s, symbols_kernel(s, addr, 0)).name,
	    "bpf_prog_2_then");
	CHECK_STR(symbols_get(s, symbols_kernel(s, addr - 0x10, 0)).name,
	    "bpf_prog_2_then");
	symbols_free(s);
	close(fd);
	unlink(path);
}

int
main(void)
{
	RUN(lookup);
	RUN(hidden);
	RUN(many);
	RUN(pads);
	RUN(missing);
	RUN(tables_of_the_kernel);
	RUN(programs_that_are_loaded_later);
	return test_done();
}
