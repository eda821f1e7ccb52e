#!/bin/bash
# Stacks of Go programs, of Debian's compiler and of a newer one where there is
# one: of leaves without a frame, of handlers of signals over them, where the
# runtime grows a stack, and of Go that C has called.
. "$(dirname "$0")/lib/cpu.sh"
. "$(dirname "$0")/lib/unwind.sh"
out=$dir/out
begun='};([^[]|[[]another stack])' # no mark, but for that one
cat >"$dir/leaf.go" <<'END'
package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

var sum uint64

//go:noinline
func leaf(n uint64) uint64 {
	for i := uint64(0); i < 2000; i++ {
		n = n*6364136223846793005 + i
	}
	return n
}

//go:noinline
func middle(n uint64) (s uint64) {
	for i := uint64(0); i < n; i++ {
		s += leaf(i)
	}
	return
}

// Its thread is interrupted all the time.
func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	runtime.LockOSThread()
	tid := syscall.Gettid()
	go func() {
		for len(os.Args) > 1 {
			syscall.Tgkill(syscall.Getpid(), tid, syscall.SIGUSR1)
		}
	}()
	for {
		sum += middle(100000)
	}
}
END
cat >"$dir/grow.go" <<'END'
package main

//go:noinline
func deep(n int) int {
	var a [32]int
	if n == 0 {
		return 1
	}
	a[n&31] = n
	return deep(n-1) + a[(n+1)&31]
}

func main() {
	done := make(chan int)
	for {
		go func() { done <- deep(400) }()
		<-done
	}
}
END
cat >"$dir/cgo.go" <<'END'
package main

/*
#include <stdint.h>
extern void goCallback(int);
static volatile uint64_t calls;
static void __attribute__((noinline)) c_calls(int n)
{
	for (int i = 0; i < 100; i++, calls++)
		goCallback(n);
}
*/
import "C"

var sum uint64

//go:noinline
func burn(n int) {
	for i := 0; i < n; i++ {
		sum += uint64(i) * sum
	}
}

//export goCallback
func goCallback(n C.int) { burn(int(n)) }

func main() {
	for {
		C.c_calls(100000)
	}
}
END
# made GO SOURCE NAME CGO [FLAG] : The library is compiled once, and kept.
made() {
	env CGO_ENABLED="$4" GO111MODULE=off GOTOOLCHAIN=local HOME="$dir" \
		GOCACHE="$BUILD/go" "$1" build ${5+"$5"} -o "$dir/$3_$tag" \
		"$dir/$2.go" || { not_ok "$3 compiles"; exit 1; }
}
programs='leaf signal bare grow cgo'
of_compiler() { # GO
	local go=$1 version old=$pids ours p
	version=$("$go" env GOVERSION)
	made "$go" leaf leaf 0
	made "$go" leaf bare 0 -ldflags=-s
	made "$go" grow grow 0
	made "$go" cgo cgo 1
	cp "$dir/leaf_$tag" "$dir/signal_$tag"
	begin "$dir/leaf_$tag"
	# The runtime's own signals would call a function behind main.leaf.
	begin env GODEBUG=asyncpreemptoff=1 "$dir/signal_$tag" signals
	begin env GODEBUG=asyncpreemptoff=1 "$dir/bare_$tag" signals
	begin "$dir/grow_$tag"
	begin "$dir/cgo_$tag"
	ours=${pids#"$old"}
	begin_driver -h 997 -s 500
	seen plenty
	end_driver
	kill -9 $ours 2>/dev/null
	wait $ours 2>/dev/null
	judge "$version"
	for p in $programs; do rm "$dir/${p}_$tag"; done
}
plenty() {
	local p
	for p in $programs; do
		[ "$(count "$out" "${p}_$tag" "${of[$p]}")" -ge "${least[$p]}" ] ||
			return
	done
}
# The samples that are judged, how many there must be at least, and what nearly
# all of them are.
back='runtime[.]sigreturn[^;]*;runtime[.]sigtramp'
declare -A of=([leaf]=';main[.]leaf ' [grow]=';runtime[.]newstack'
	[signal]=';main[.]main;.*;runtime[.]sigtramp'
	[bare]=';main[.]main;.*;runtime[.]sigtramp' [cgo]=';main[.]burn ')
declare -A least=([leaf]=300 [signal]=40 [bare]=40 [grow]=50 [cgo]=300)
declare -A are=(
	[leaf]='};runtime[.]goexit[^;]*;runtime[.]main;main[.]main;main[.]middle;main[.]leaf '
	[signal]=";main[.]main;main[.]middle;(main[.]leaf;)?$back"
	[bare]=";main[.]main;main[.]middle;(main[.]leaf;)?$back"
	[grow]='};\[another stack\];runtime[.]morestack[^;]*;runtime[.]newstack'
	[cgo]='};runtime[.]goexit[^;]*;runtime[.]main;main[.]main;.*;c_calls;goCallback;crosscall2;.*;main[.]burn '
)
declare -A says=([leaf]="a leaf without a frame has its callers"
	[signal]="a handler of a signal has what was interrupted"
	[bare]="the same without symbols"
	[grow]="callers of what grows their stack are missing, and marked"
	[cgo]="Go that C called has its callers")
judge() { # VERSION
	local p all good
	for p in $programs; do
		all=$(count "$out" "${p}_$tag" "${of[$p]}")
		good=$(count "$out" "${p}_$tag" "${are[$p]}")
		echo "# $p: $good of $all"
		expect "$1: $p: sampled" "$all" "$all" -ge "${least[$p]}"
		if enough "$good" "$all" 950; then ok "$1: ${says[$p]}"
		else
			not_ok "$1: ${says[$p]}" "$good of $all"
			settled "$out" "${p}_$tag" | O=${of[$p]} A=${are[$p]} awk '
				$0 ~ ENVIRON["O"] && $0 !~ ENVIRON["A"]' |
				head -n 4 | cut -c 1-400 | sed 's/^/# /'
		fi
	done
}
compilers=
for go in /usr/lib/go-*/bin/go "$(command -v go)"; do
	version=$("$go" env GOVERSION 2>/dev/null) || continue
	case " $compilers " in *" $version "*) continue ;; esac
	of_compiler "$go"
	compilers="$compilers $version"
done
[ -n "$compilers" ] || echo "skip - no go"
