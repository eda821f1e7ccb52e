# MemLens: make run, make check, make bench, make demo, make install.
# B is the build folder; V=1 shows the commands; SAN=address,undefined
# builds with sanitizers.
B ?= build
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
LOCALSTATEDIR ?= /var
UNITDIR ?= /lib/systemd/system
CC := gcc
CXX := g++
CLANG := clang
BPFTOOL := $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
OPT ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wundef -Wvla \
	-Wimplicit-fallthrough -Wnull-dereference -Wno-format-truncation
ifeq ($(CI),true)
WARN += -Werror
endif
HARDEN := -fstack-protector-strong -fPIE
LDHARDEN := -pie -Wl,-z,relro,-z,now
ifdef SAN
HARDEN := -fPIE -fno-omit-frame-pointer -fsanitize=$(SAN) \
	-fno-sanitize-recover=all
LDHARDEN := -pie -fsanitize=$(SAN)
else
HARDEN += -D_FORTIFY_SOURCE=2
endif
CPPFLAGS += -D_GNU_SOURCE -I.
CFLAGS_ALL = -std=c11 $(OPT) $(WARN) $(HARDEN) $(CPPFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(LDHARDEN) -Wl,--as-needed $(LDFLAGS)
Q := $(if $(V),,@)

STORE_SRC := $(wildcard store/*/*.c)
FORMAT_SRC := $(wildcard fcgi/format/*.c fcgi/format/*/*.c)
# what makes batches of profiles, for who is no worker
PUSH_SRC := $(addprefix fcgi/push/,push.c push_batch.c push_cached.c push_places.c push_cache.c) \
	fcgi/server/told.c
SYMBOLIZE_SRC := $(wildcard fcgi/symbolize/*.c)
ELF_SRC := $(addprefix collector/elf/,demangle.c debug_file.c dwarf_index.c)
PULL_SRC := $(wildcard collector/pull/*.c)
SCRAPE_SRC := $(wildcard collector/scrape/*.c fcgi/http/*.c)
JAVA_SRC := $(wildcard collector/java/*.c)
DAEMON_SRC := $(filter-out $(SCRAPE_SRC) $(PULL_SRC) $(JAVA_SRC) %.bpf.c %.so.c,\
	$(wildcard collector/*.c collector/*/*.c))
TOOL_SRC := $(wildcard fcgi/memlens/*.c)
DRAW_SRC := $(wildcard fcgi/draw/*.c)
WORKER_SRC := $(filter-out $(TOOL_SRC) $(SYMBOLIZE_SRC) $(FORMAT_SRC) $(DRAW_SRC),\
	$(wildcard fcgi/*.c fcgi/*/*.c fcgi/graph/*/*.c))
BPF_SRC := $(wildcard collector/bpf/*.bpf.c)
UNIT_SRC := $(shell find tests/unit -name 'test_*.c')
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
SKELETONS := $(patsubst collector/bpf/%.bpf.c,$(B)/gen/%.skel.h,$(BPF_SRC))
UNIT := $(patsubst %.c,$(B)/unit/%,$(notdir $(UNIT_SRC)))
PROTO := $(patsubst fcgi/format/%.proto,$(B)/gen/%.pb-c,\
	$(wildcard fcgi/format/*.proto))

STORE_LIBS := -ldb-5.3 -lz -ldeflate -linih -lpcre2-8 -lpthread
DAEMON_LIBS := $(STORE_LIBS) -lbpf -lelf -lseccomp -lcap -lstdc++ -liberty -ldw -llzma -lm
WORKER_LIBS := $(STORE_LIBS) -lfcgi -ljson-c -lcgraph -lelf -lprotobuf-c \
	-lm
DRAW_LIBS := -lgvc -lcgraph -lrsvg-2 -lcairo -lfontconfig -lgio-2.0 -lgobject-2.0 \
	-lglib-2.0 -lseccomp -lm
SCRAPE_LIBS := $(STORE_LIBS) -ljson-c -lprotobuf-c -lseccomp -ldw -lelf -lm -lstdc++ -liberty
TOOL_LIBS := $(STORE_LIBS) -lcgraph -ljson-c -lprotobuf-c -ldw -lelf -lm -lstdc++ -liberty

ALLOC := $(B)/libmemlens-alloc.so
BIN := $(ALLOC) $(B)/memlensd $(B)/memlens-scrape $(B)/memlens-java $(B)/memlens-fcgi $(B)/memlens-draw \
	$(B)/memlens
TARGETS := $(B)/kvservice $(B)/kvservice.map $(B)/kvload

.PHONY: all bin targets www run demo check bench clean install units \
	helpers fuzzers
.DELETE_ON_ERROR:
.SECONDARY:

all: bin targets www
.DEFAULT_GOAL := all

# ---- what is needed: installed by name where it is missing ----

# to build: compilers, BPF tool chain, libraries
PKG_BUILD := gcc g++ make clang llvm bpftool libc6-dev libbpf-dev libelf-dev \
	zlib1g-dev libdeflate-dev libdb5.3-dev libinih-dev libpcre2-dev libcurl4-gnutls-dev libcap-dev libseccomp-dev \
	libdw-dev liblzma-dev libiberty-dev libfcgi-dev libjson-c-dev libgraphviz-dev libleveldb-dev libsnappy-dev \
	libprotobuf-c-dev protobuf-c-compiler librsvg2-dev pkg-config
# to run: the web server, fonts for graphs, curl for waiting
PKG_RUN := nginx-light curl util-linux fonts-dejavu-core
# to test: a browser, FastCGI by hand, man page lint, fuzzers, an independent
# reader of /proc, databases to profile, what jeprof calls (file), the order
# of includes (clang-format), kinds of program (36 MB; tests/kinds), builders
# whose graphs are read
PKG_CHECK := chromium-headless-shell libfcgi-bin mandoc protobuf-compiler libclang-rt-14-dev jq binutils libjemalloc-dev musl-tools golang-go \
	prometheus-node-exporter python3 procps db5.3-util \
	redis-server redis-tools postgresql postgresql-contrib dwz file clang-format-14 google-perftools \
	etcd-server memcached mariadb-server-core mariadb-client-core rocksdb-tools sqlite3 libgoogle-perftools4 \
	ruby php-cli lua5.4 luajit tcl perl gfortran cmake ninja-build meson
# to compare: perf, an emulated machine with an older kernel, Prometheus's
# blocks, a browser to be profiled; a bench says what it skips where one of them cannot be installed.
# Of the kinds of program, Rust, OCaml, Haskell and Java are compared where their
# compilers are there: 73 to 200 MB each.
PKG_BENCH := bsdextrautils chromium wrk linux-perf qemu-system-x86 cpio \
	prometheus prometheus-process-exporter mmdebstrap libbpf-tools bpftrace

.PHONY: need-build need-run need-check need-bench
need-build:
	@tests/live/install.sh "to build" $(PKG_BUILD)
need-run: need-build
	@tests/live/install.sh "to run" $(PKG_RUN)
need-check: need-run
	@tests/live/install.sh "to test" $(PKG_CHECK)
need-bench: need-check
	-@tests/live/install.sh "to compare" $(PKG_BENCH)

# ---- run, demo, check ----

run: need-run
	@echo "building (make V=1 shows the commands)"
	@$(MAKE) --no-print-directory -j2 all \
		$(if $(filter resilientdb,$(DATABASE)),$(B)/system/resdb_replica)
	@exec tests/live/run.sh $(B) $(or $(PORT),8080)

demo: need-run
	@$(MAKE) --no-print-directory www
	@exec tests/live/demo.sh $(B)/www $(or $(PORT),8080)

check: need-check
	@echo "building programs and tests"
	@$(MAKE) --no-print-directory -j2 all units helpers fuzzers agent
	@exec tests/run $(B) $(LAYERS)

bench: need-bench
	@$(MAKE) --no-print-directory -j2 all units helpers
	@exec tests/bench/run.sh $(B)

# ---- the pages: copied, with uPlot from npm by lockfile ----

WWW_SRC := $(shell find frontend -name node_modules -prune -o -type f -print)
frontend/node_modules/.package-lock.json: frontend/package-lock.json
	@echo "  NPM  uplot, playwright-core"
	$(Q)cd frontend && npm ci --silent --no-audit --no-fund
	@touch $@

# Pyroscope's agent for Node, which a test pushes with.
.PHONY: agent
agent: tests/api/node/node_modules/.package-lock.json
tests/api/node/node_modules/.package-lock.json: tests/api/node/package-lock.json
	@echo "  NPM  @pyroscope/nodejs"
	$(Q)cd tests/api/node && npm ci --silent --no-audit --no-fund
	@touch $@

www: $(B)/www/index.html
$(B)/www/index.html: $(WWW_SRC) frontend/node_modules/.package-lock.json
	@echo "  WWW  $(B)/www"
	$(Q)rm -rf $(B)/www && mkdir -p $(B)/www/lib
	$(Q)cp -r $(filter-out %/tools %/node_modules %.json,\
		$(wildcard frontend/*)) $(B)/www/
	$(Q)cp frontend/node_modules/uplot/dist/uPlot.iife.min.js \
		frontend/node_modules/uplot/dist/uPlot.min.css \
		frontend/node_modules/uplot/LICENSE $(B)/www/lib/
	@touch $@

bin: $(BIN)
targets: $(TARGETS)
units: $(UNIT)

# pictures: a library whose headers are many
$(B)/obj/fcgi/draw/png.o $(B)/fuzzobj/fcgi/draw/png.o: CPPFLAGS += \
	$(shell pkg-config --cflags librsvg-2.0 2>/dev/null)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -I$(B)/gen -c -o $@ $<

# The BPF programs: what they read of kernel types (kernel.h) is relocatable
# by CO-RE; each is embedded as a skeleton.
$(B)/gen/%.bpf.o: collector/bpf/%.bpf.c $(wildcard collector/bpf/*.h)
	@mkdir -p $(@D)
	@echo "  BPF  $<"
	$(Q)$(CLANG) -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
		-Wall -Wno-missing-declarations -I. -c -o $@ $<
	$(Q)llvm-strip -g $@ 2>/dev/null || llvm-strip-14 -g $@

$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	@echo "  SKEL $@"
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

$(call objects,$(DAEMON_SRC)): $(SKELETONS)

# Messages of foreign formats.
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h &: fcgi/format/%.proto
	@mkdir -p $(@D)
	@echo "  PROTO $<"
	$(Q)protoc-c --c_out=$(B)/gen -Ifcgi/format $<
$(B)/obj/%.pb-c.o: $(B)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -w -I$(B)/gen -c -o $@ $<
PROTO_OBJ := $(PROTO:$(B)/gen/%=$(B)/obj/%.o)
$(call objects,$(FORMAT_SRC) $(WORKER_SRC) $(TOOL_SRC) $(PULL_SRC) $(SYMBOLIZE_SRC) $(UNIT_SRC) \
	$(wildcard tests/bench/*.c tests/api/*.c)): | $(PROTO:=.h)

# Scripts and styles of what we answer, as string literals without the comment
# that each begins with.
EMBEDDED := $(wildcard fcgi/format/*/*.js fcgi/format/*/*.css)
define embed
$(B)/gen/$(notdir $(1)).h: $(1)
	@mkdir -p $$(@D)
	@echo "  TEXT $$<"
	$$(Q)sed -e '1,/^ \*\/$$$$/d' -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' \
		$$< > $$@
endef
$(foreach f,$(EMBEDDED),$(eval $(call embed,$(f))))
EMBEDDED_H := $(patsubst %,$(B)/gen/%.h,$(notdir $(EMBEDDED)))
$(call objects,$(FORMAT_SRC)): | $(EMBEDDED_H)

$(B)/libmemlens.a: $(call objects,$(STORE_SRC))
$(B)/libformat.a: $(call objects,$(FORMAT_SRC)) $(PROTO_OBJ)
$(B)/lib%.a:
	@echo "  AR   $@"
	$(Q)rm -f $@ && ar rcsD $@ $^

define program
$(1): $(call objects,$(2)) $(3)
	@echo "  LINK $$@"
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$(filter %.o %.a,$$^) $(4)
endef
LIB := $(B)/libmemlens.a
FORMAT := $(B)/libformat.a
$(eval $(call program,$(B)/memlensd,$(DAEMON_SRC),$(LIB),$(DAEMON_LIBS)))
$(eval $(call program,$(B)/memlens-scrape,$(SCRAPE_SRC) $(PULL_SRC) $(PUSH_SRC) \
	$(SYMBOLIZE_SRC) $(ELF_SRC),$(FORMAT) $(LIB),$(SCRAPE_LIBS)))
$(eval $(call program,$(B)/memlens-java,$(JAVA_SRC) \
	collector/base/readfile.c,$(LIB),$(STORE_LIBS)))
$(eval $(call program,$(B)/memlens-fcgi,$(WORKER_SRC),$(FORMAT) $(LIB),\
	$(WORKER_LIBS)))
$(eval $(call program,$(B)/memlens-draw,$(DRAW_SRC) \
	fcgi/child/child.c,$(LIB),$(DRAW_LIBS)))
$(eval $(call program,$(B)/memlens,$(TOOL_SRC) $(SYMBOLIZE_SRC) $(ELF_SRC) $(PUSH_SRC) \
	fcgi/server/timespec.c collector/alloc/beside.c \
	$(wildcard fcgi/graph/*/*.c fcgi/starlark/*.c) fcgi/format/arena.c \
	fcgi/child/child.c fcgi/child/sandbox.c,\
	$(FORMAT) $(LIB),\
	$(TOOL_LIBS)))

# What programs preload: no part of it is the daemon's but a header.  What calls
# something keeps frame pointers: who asked for memory is found by them alone,
# where its unwind rows are not there yet.
ALLOC_SRC := $(wildcard collector/alloc/*.so.c)
$(ALLOC): $(ALLOC_SRC) collector/alloc/alloc.h collector/alloc/alloc_own.h
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. -O2 -g $(WARN) -fPIC -fvisibility=hidden \
		-fno-omit-frame-pointer -momit-leaf-frame-pointer \
		-fno-builtin-malloc -fno-builtin-calloc -shared -Wl,-z,relro,-z,now \
		-Wl,-soname,libmemlens-alloc.so -o $@ $(ALLOC_SRC)

# A unit test links the modules that it tests: everything but the mains.
TESTED := $(filter-out %/main.o,$(call objects,$(DAEMON_SRC) $(WORKER_SRC) \
	fcgi/draw/walls.c fcgi/draw/standby.c $(SYMBOLIZE_SRC) $(PULL_SRC) $(wildcard fcgi/memlens/program_parts*.c)))
$(foreach t,$(UNIT_SRC),$(eval $(B)/unit/$(basename $(notdir $(t))): \
	$(B)/obj/$(t:.c=.o)))
# It looks on while symbols are bound.
$(B)/unit/test_unwind_own: private LDFLAGS_ALL += -Wl,-z,lazy
$(UNIT): $(B)/libtested.a $(FORMAT) $(LIB)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(B)/libtested.a \
		$(FORMAT) $(LIB) $(DAEMON_LIBS) $(WORKER_LIBS)
$(B)/libtested.a: $(TESTED)

# The profiled target of `make run` and of the tests, and the linker's map of
# it, by which its graph is drawn.
KV_OBJ := $(patsubst %.cc,$(B)/obj/%.o,$(wildcard tests/kvservice/kvservice*.cc))
$(KV_OBJ): $(B)/obj/%.o: %.cc $(wildcard tests/kvservice/*.h)
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	$(Q)$(CXX) -std=c++17 -O2 -g -fno-omit-frame-pointer -Wall -Wextra -c -o $@ $<
$(B)/kvservice $(B)/kvservice.map &: $(KV_OBJ)
	@echo "  LINK $(B)/kvservice"
	$(Q)$(CXX) -o $(B)/kvservice $^ -Wl,-Bstatic -lleveldb -lsnappy -Wl,-Bdynamic -lpthread \
		-Wl,-Map=$(B)/kvservice.map,--cref
$(B)/kvload: $(wildcard tests/kvservice/kvload*.c tests/kvservice/*.h)
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) -o $@ \
		$(filter %.c,$^) -lpthread -lm

# Helper programs of test scripts: tests/LAYER/NAME.c is build/LAYER/NAME.
HELPERS := $(patsubst tests/%.c,$(B)/%,$(filter-out %.bpf.c %.so.c,$(wildcard \
	tests/api/*.c tests/system/*.c tests/replay/*.c tests/bench/*.c)))
helpers: $(HELPERS) $(B)/api/wrong_clock.so
# what tests preload: tests/LAYER/NAME.so.c
$(B)/%.so: tests/%.so.c
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 $(WARN) -fPIC -shared -o $@ $<
$(HELPERS): $(B)/%: $(B)/obj/tests/%.o $(B)/libtested.a $(FORMAT) $(LIB)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(B)/libtested.a $(FORMAT) $(LIB) \
		$(DAEMON_LIBS) $(WORKER_LIBS) $(MORE_LIBS)
# the stack walker that ours is measured against
$(B)/gen/reference.bpf.o: tests/bench/reference.bpf.c \
		tests/bench/reference.h $(wildcard collector/bpf/*.h) \
		collector/bpf/unwind.h
	@mkdir -p $(@D)
	@echo "  BPF  $<"
	$(Q)$(CLANG) -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
		-Wall -Wno-missing-declarations -I. -c -o $@ $<
	$(Q)llvm-strip -g $@ 2>/dev/null || llvm-strip-14 -g $@
$(B)/obj/tests/bench/reference.o: $(B)/gen/reference.skel.h
# the reference that our table of unwind rows is compared with
$(B)/bench/ehframe_libdw: MORE_LIBS := -ldw

# Fuzz targets: everything that they reach, built with clang's sanitizers.
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzzobj/%.o,$(STORE_SRC) $(FORMAT_SRC) \
	$(filter-out %/main.c,$(WORKER_SRC) $(DAEMON_SRC) $(DRAW_SRC) \
	$(SYMBOLIZE_SRC) $(PULL_SRC) $(wildcard fcgi/memlens/program_parts*.c)))
fuzzers: $(FUZZ)
$(B)/fuzzobj/%.o: %.c | $(SKELETONS) $(PROTO:=.h) $(EMBEDDED_H)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -std=c11 -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
		$(CPPFLAGS) -w -MMD -MP -I$(B)/gen -c -o $@ $<
$(B)/fuzzobj/%.pb-c.o: $(B)/gen/%.pb-c.c
	@mkdir -p $(@D)
	$(Q)$(CLANG) -O1 -g -fsanitize=fuzzer-no-link,address,undefined -w \
		-I$(B)/gen -c -o $@ $<
$(B)/libfuzzed.a: $(FUZZ_OBJ) $(PROTO:$(B)/gen/%=$(B)/fuzzobj/%.o)
$(B)/fuzz/%: tests/fuzz/%.c $(B)/libfuzzed.a
	@mkdir -p $(@D)
	@echo "  FUZZ $@"
	$(Q)$(CLANG) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined \
		$(CPPFLAGS) -w -MMD -MP -MF $@.d -MT $@ -o $@ $< \
		$(B)/libfuzzed.a $(DAEMON_LIBS) $(WORKER_LIBS) $(MORE_LIBS)
$(B)/fuzz/fuzz_draw: MORE_LIBS := $(DRAW_LIBS)

# ---- install: DESTDIR, PREFIX, SYSCONFDIR, UNITDIR ----

MAN8 := $(wildcard collector/*.8 collector/*/*.8 fcgi/*.8 fcgi/*/*.8)
MAN7 := $(wildcard fcgi/*.7)
MAN5 := $(wildcard collector/*.5 fcgi/*.5)
MAN1 := $(wildcard fcgi/*/*.1)
UNITS := $(wildcard collector/*.service collector/*/*.service \
	fcgi/*.service fcgi/*.socket)
# What an operator edits is not overwritten.
CONFIGS := $(wildcard collector/*.conf collector/*/*.conf fcgi/*.conf) \
	nginx/memlens-site.conf
# The units and the site say /usr; they are installed with the real prefix.
PREFIXED = sed -e 's,/usr/sbin/,$(PREFIX)/sbin/,g' \
	-e 's,/usr/lib/memlens,$(PREFIX)/lib/memlens,g' \
	-e 's,/usr/share/memlens,$(PREFIX)/share/memlens,g' \
	-e 's,/etc/memlens,$(SYSCONFDIR)/memlens,g'
D = $(DESTDIR)$(PREFIX)
install: bin www
	install -D -m 755 -t $(D)/sbin $(B)/memlensd
	install -D -m 755 -t $(D)/lib/memlens $(B)/memlens-scrape $(B)/memlens-java \
		$(B)/memlens-fcgi $(B)/memlens-draw
	install -D -m 644 -t $(D)/lib/memlens $(ALLOC)
	install -D -m 755 -t $(D)/bin $(B)/memlens
	install -D -m 644 -t $(D)/share/man/man8 $(MAN8)
	install -D -m 644 -t $(D)/share/man/man7 $(MAN7)
	install -D -m 644 -t $(D)/share/man/man5 $(MAN5)
	install -D -m 644 -t $(D)/share/man/man1 $(MAN1)
	install -D -m 644 -t $(DESTDIR)$(SYSCONFDIR)/memlens \
		nginx/memlens-locations.conf
	for f in $(CONFIGS); do \
		to=$(DESTDIR)$(SYSCONFDIR)/memlens/$${f##*/}; \
		if [ -e "$$to" ]; then echo "kept: $$to"; \
		else $(PREFIXED) $$f > "$$to"; fi; done
	install -d $(D)/share/memlens
	rm -rf $(D)/share/memlens/www.new
	cp -r $(B)/www $(D)/share/memlens/www.new
	rm -rf $(D)/share/memlens/www # files of other versions
	mv $(D)/share/memlens/www.new $(D)/share/memlens/www
	install -D -m 644 collector/memlens.sysusers \
		$(D)/lib/sysusers.d/memlens.conf
	install -D -m 644 collector/memlens.tmpfiles \
		$(D)/lib/tmpfiles.d/memlens.conf
	install -d $(DESTDIR)$(UNITDIR)
	for u in $(UNITS); do \
		$(PREFIXED) $$u > $(DESTDIR)$(UNITDIR)/$${u##*/}; done

clean:
	rm -rf $(B)

-include $(shell find $(B)/obj $(B)/fuzzobj $(B)/fuzz -name '*.d' 2>/dev/null)
