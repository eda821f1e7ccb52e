#!/bin/bash
# The allocator's library in programs of every kind, without a daemon: what it
# tells and keeps is judged by the programs themselves (lib/alloc_edges.cc).
. "$(dirname "$0")/daemon-lib.bash"
chmod 755 "$dir"
library=$dir/libmemlens-alloc.so
cp "$BUILD/libmemlens-alloc.so" "$library"
unset LD_PRELOAD
lib=tests/system/lib
CXXFLAGS="-std=c++17 -O1 -g -fno-builtin -Wall -Wextra -I."
g++ $CXXFLAGS -o "$dir/edges" $lib/alloc_edges.cc -lpthread &&
	g++ $CXXFLAGS -shared -fPIC -o "$dir/opened.so" $lib/alloc_opened.cc &&
	g++ $CXXFLAGS -shared -fPIC -static-libstdc++ -static-libgcc \
		-o "$dir/static.so" $lib/alloc_opened.cc &&
	gcc -O2 -fno-builtin -fPIC -c -o "$dir/behind.o" $lib/alloc_behind.c &&
	gcc -shared -o "$dir/behind.so" "$dir/behind.o" || exit 1

# runs NAME PRELOADED COMMAND... : it says nothing, and ends with 0
runs() {
	local name=$1 preloaded=$2 said
	shift 2
	said=$(LD_PRELOAD=$preloaded "$@" 2>&1)
	expect "$name" "$said, status $?" ", status 0"
}

# ---- allocators ----

for behind in libc jemalloc tcmalloc; do
	with=$library
	[ $behind = libc ] || with=$with:$(ls /usr/lib/*/lib$behind.so.[0-9])
	runs "$behind: all calls and operators, told and given back" "$with" \
		"$dir/edges" ways
	runs "$behind: what cannot be had" "$with" "$dir/edges" refused
	runs "$behind: realloc tells before the address is another's" "$with" \
		"$dir/edges" moved
	runs "$behind: who asks for very much is sampled seldom" "$with" \
		"$dir/edges" hot
	runs "$behind: forks while threads allocate" "$with" "$dir/edges" fork
	runs "$behind: a library is opened and closed" "$with" \
		"$dir/edges" open "$dir/opened.so"
done
runs "handlers of signals allocate" "$library:$dir/behind.so" \
	"$dir/edges" signals

# ---- libraries that bring C++ with them ----

cat >"$dir/opener.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	for (int i = 0; i < 50 && argc > 1; i++) {
		void *object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*works)(void), status;

		if (object == NULL)
			return puts(dlerror());
		*(void **)&works = dlsym(object, "works");
		status = works();
		if (status != 0)
			return status;
		dlclose(object);
	}
	return 0;
}
END
gcc -o "$dir/opener" "$dir/opener.c"
runs "a program of C opens a library of C++" "$library" \
	"$dir/opener" "$dir/opened.so"
runs "and one that has C++'s library in it" "$library" \
	"$dir/opener" "$dir/static.so"
for behind in jemalloc tcmalloc; do
	runs "$behind: one whose operators the allocator has in part" \
		"$library:$(ls /usr/lib/*/lib$behind.so.[0-9])" \
		"$dir/opener" "$dir/static.so"
done

# ---- programs with allocators of their own ----

g++ $CXXFLAGS -Wno-sized-deallocation -DOPERATORS -o "$dir/operators" $lib/alloc_owner.cc
runs "a program with its own operator new" "$library" "$dir/operators"

# Some of them alone: the language's library does the others by way of those.
cat >"$dir/some.cc" <<'END'
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#define HEADER 64

static int calls, balance;

static void *
take(std::size_t n)
{
	char *p = static_cast<char *>(std::malloc(n + HEADER));

	if (p == nullptr)
		throw std::bad_alloc();
	calls++;
	balance++;
	return p + HEADER;
}

static void
give(void *p)
{
	balance -= p != nullptr;
	std::free(p == nullptr ? p : static_cast<char *>(p) - HEADER);
}

#ifdef ALIGNED
void *
operator new(std::size_t n, std::align_val_t)
{
	return take(n);
}

void
operator delete(void *p, std::align_val_t) noexcept
{
	give(p);
}
#else
void *
operator new[](std::size_t n)
{
	return take(n);
}

void
operator delete[](void *p) noexcept
{
	give(p);
}
#endif

struct alignas(32) wide {
	char c[64];
	~wide() {}
};

int
main()
{
	for (int i = 0; i < 1000; i++) {
#ifdef ALIGNED
		wide *one = new wide, *many = new wide[3];
		delete one;
		delete[] many;
#else
		std::string *s = new std::string[10];
		int *n = new (std::nothrow) int[100];
		delete[] s;
		delete[] n;
#endif
	}
	if (calls == 2000 && balance == 0)
		return 0;
	std::printf("%d calls, %d left\n", calls, balance);
	return 1;
}
END
for how in "" -DALIGNED; do
	g++ -std=c++17 -O1 -Wno-sized-deallocation $how -o "$dir/some" "$dir/some.cc"
	runs "a program with some operators of its own $how" "$library" "$dir/some"
done
g++ $CXXFLAGS -o "$dir/owner" $lib/alloc_owner.cc "$dir/behind.o"
runs "a program with its own malloc" "$library" "$dir/owner"
jemalloc=$(ls /usr/lib/*/libjemalloc.a 2>/dev/null)
if [ -n "$jemalloc" ]; then
	g++ $CXXFLAGS -o "$dir/linked" $lib/alloc_opened.cc -x c++ - -x none \
		"$jemalloc" -lpthread -ldl <<-'END'
	extern "C" int works(void);
	int main() { return works(); }
	END
	runs "a program with jemalloc in it" "$library" "$dir/linked"
fi
# One that is not to be moved has entries of its own for what it takes the
# addresses of.
cat >"$dir/fixed.cc" <<'END'
#include <stdlib.h>

#include <new>

void *(*volatile takes)(size_t) = malloc;
void (*volatile gives)(void *) = free;
void *(*volatile makes)(size_t) = operator new;
void (*volatile ends)(void *) = operator delete;

int
main()
{
	for (int i = 0; i < 1000; i++) {
		gives(takes(10000));
		ends(makes(10000));
	}
	return 0;
}
END
g++ $CXXFLAGS -no-pie -o "$dir/fixed" "$dir/fixed.cc"
runs "a program with entries of its own for our functions" "$library" \
	timeout 20 "$dir/fixed"
echo 'int main(void) { return 0; }' >"$dir/one.c"
gcc -static -o "$dir/one" "$dir/one.c"
runs "a static program" "$library" "$dir/one"

# ---- programs that forbid themselves things, wrappers ----

cat >"$dir/clockless.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

int
main(void)
{
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV); /* as strict seccomp does */
	for (int i = 0; i < 20000; i++) {
		char *p = malloc(10000);

		memset(p, i, 100);
		free(p);
	}
	return 0;
}
END
gcc -o "$dir/clockless" "$dir/clockless.c"
runs "a program that may not read the cycle counter" "$library" \
	timeout 20 "$dir/clockless"
cat >"$dir/wrapper.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);

void *
malloc(size_t n)
{
	if (next_malloc == NULL) {
		*(void **)&next_free = dlsym(RTLD_NEXT, "free");
		*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
	}
	return next_malloc(n);
}

void
free(void *p)
{
	next_free(p);
}
END
gcc -shared -fPIC -o "$dir/wrapper.so" "$dir/wrapper.c"
for wrapper in "$dir/wrapper.so" libmemusage.so; do
	LD_PRELOAD=$wrapper:$library timeout 20 "$dir/opener" "$dir/opened.so" \
		>"$dir/said" 2>&1
	status=$?
	expect "a wrapper of malloc() that stands before it: ${wrapper##*/}" \
		"$status" 0
done

# ---- thread-local storage ----

cat >"$dir/tls.c" <<'END'
__thread char used[200] __attribute__((tls_model("initial-exec")));
char *
uses(void)
{
	return used;
}
END
gcc -shared -fPIC -o "$dir/tls.so" "$dir/tls.c"
for i in $(seq 60); do cp "$dir/tls.so" "$dir/tls$i.so"; done
cat >"$dir/many.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	int i = 1;

	while (i < argc && dlopen(argv[i], RTLD_NOW) != NULL)
		i++;
	return printf("%d\n", i - 1) < 0;
}
END
gcc -o "$dir/many" "$dir/many.c"
alone=$("$dir/many" "$dir"/tls[0-9]*.so)
with=$(LD_PRELOAD=$library "$dir/many" "$dir"/tls[0-9]*.so)
expect_true "static storage of threads is left: $with of $alone libraries" \
	[ "$alone" -lt 60 -a "$with" -ge $((alone - 1)) ]

# ---- old and other C libraries ----

newest=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
expect "it needs no glibc after 2.17 (it needs $newest)" \
	"$(printf '%s\n' "$newest" GLIBC_2.17 | sort -V | tail -n 1)" GLIBC_2.17
expect "and names no other library" \
	"$(readelf -d "$library" | grep -c 'NEEDED.*[^c].so.6')" 0
# glibc's libdl is another library before 2.34: without it there is no dlsym()
gcc -std=c11 -D_GNU_SOURCE -I. -O2 -fPIC -fvisibility=hidden -shared \
	-Dold_dlsym=old_none -Dold_dladdr=old_no_dladdr \
	-Dold_dladdr1=old_no_dladdr1 \
	-fno-builtin-malloc -fno-builtin-calloc -o "$dir/nodl.so" \
	collector/alloc/*.so.c
for t in ways refused; do
	runs "where there is no dlsym: $t" "$dir/nodl.so" "$dir/edges" $t
done

# ---- setuid ----

cat >"$dir/secure.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

int
main(void)
{
	for (int i = 0; i < 100; i++)
		free(realloc(malloc(1 << 20), 2 << 20));
	printf("uid %d, secure %lu, library %d\n", geteuid(),
	    getauxval(AT_SECURE),
	    dlsym(RTLD_DEFAULT, "memlens_alloc1_table") != NULL);
	return 0;
}
END
gcc -fno-builtin -o "$dir/secure" "$dir/secure.c"
chmod 4755 "$dir/secure"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
expect "LD_PRELOAD is not for a setuid program" \
	"$(LD_PRELOAD=$library $as_nobody "$dir/secure" 2>/dev/null)" \
	"uid 0, secure 1, library 0"
mkdir "$dir/etc"
cp -a /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.* "$dir/etc"
echo "$library" >"$dir/etc/ld.so.preload"
expect "that of all programs is, and it runs" "$(unshare -m sh -c "
	mount --bind '$dir/etc' /etc && exec $as_nobody '$dir/secure'" 2>&1)" \
	"uid 0, secure 1, library 1"
