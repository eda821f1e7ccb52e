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
	-Wimplicit-fallthrough -Wnull-dereference
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
CPPFLAGS += -D_GNU_SOURCE -I. -Istore
CFLAGS_ALL = -std=c11 $(OPT) $(WARN) $(HARDEN) $(CPPFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(LDHARDEN) -Wl,--as-needed $(LDFLAGS)
Q := $(if $(V),,@)

STORE_SRC := $(wildcard store/base/*.c store/*.c)
FORMAT_SRC := $(wildcard fcgi/format/*.c)
SCRAPE_SRC := $(wildcard collector/scrape*.c)
DAEMON_SRC := $(filter-out $(SCRAPE_SRC),$(wildcard collector/*.c))
TOOL_SRC := $(wildcard fcgi/memlens.c fcgi/cmd_*.c)
WORKER_SRC := $(filter-out $(TOOL_SRC),$(wildcard fcgi/*.c))
BPF_SRC := $(wildcard collector/bpf/*.bpf.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
SKELETONS := $(patsubst collector/bpf/%.bpf.c,$(B)/gen/%.skel.h,$(BPF_SRC))
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))

STORE_LIBS := -ldb-5.3 -linih -lpthread
DAEMON_LIBS := $(STORE_LIBS) -lbpf -lelf -lz -lseccomp -lcap -lstdc++
WORKER_LIBS := $(STORE_LIBS) -lfcgi -ljson-c -lgvc -lcgraph -lelf -lz -lm
SCRAPE_LIBS := $(STORE_LIBS) -ljson-c -lm
TOOL_LIBS := $(STORE_LIBS) -ljson-c -lz -lm

BIN := $(B)/memlensd $(B)/memlens-scrape $(B)/memlens-fcgi $(B)/memlens
TARGETS := $(B)/kvservice $(B)/kvload

.PHONY: all bin targets www deps run demo check bench clean install \
	format-check units
.DELETE_ON_ERROR:
.SECONDARY:

all: bin targets www

bin: $(BIN)
targets: $(TARGETS)
units: $(UNIT)

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
		-Wall -Wno-missing-declarations -Icollector/bpf -c -o $@ $<
	$(Q)llvm-strip -g $@ 2>/dev/null || llvm-strip-14 -g $@

$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	@echo "  SKEL $@"
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst -,_,$*)_bpf > $@

$(call objects,$(DAEMON_SRC)): $(SKELETONS)

$(B)/libmemlens.a: $(call objects,$(STORE_SRC))
$(B)/libformat.a: $(call objects,$(FORMAT_SRC))
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
$(eval $(call program,$(B)/memlens-scrape,$(SCRAPE_SRC),$(FORMAT) $(LIB),\
	$(SCRAPE_LIBS)))
$(eval $(call program,$(B)/memlens-fcgi,$(WORKER_SRC),$(FORMAT) $(LIB),\
	$(WORKER_LIBS)))
$(eval $(call program,$(B)/memlens,$(TOOL_SRC),$(FORMAT) $(LIB),\
	$(TOOL_LIBS)))

# A unit test links the modules that it tests: everything but the mains.
TESTED := $(filter-out %/main.o,$(call objects,$(DAEMON_SRC) $(WORKER_SRC)))
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(B)/libtested.a $(FORMAT) $(LIB)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(B)/libtested.a $(FORMAT) $(LIB) \
		$(DAEMON_LIBS) $(WORKER_LIBS)
$(B)/libtested.a: $(TESTED)

# The profiled target of `make run` and of the tests.
$(B)/kvservice: $(wildcard tests/kvservice/kvservice*.cc \
		tests/kvservice/*.h)
	@mkdir -p $(@D)
	@echo "  CXX  $@"
	$(Q)$(CXX) -std=c++17 -O2 -g -fno-omit-frame-pointer -Wall -Wextra \
		-o $@ $(filter %.cc,$^) -Wl,-Bstatic -lleveldb -lsnappy \
		-Wl,-Bdynamic -lpthread
$(B)/kvload: $(wildcard tests/kvservice/kvload*.c tests/kvservice/*.h)
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) -o $@ \
		$(filter %.c,$^) -lpthread -lm

clean:
	rm -rf $(B)

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
