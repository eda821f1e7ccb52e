// heap FILE...: writes a heap profile for each, with more allocated before it.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

//go:noinline
func keepLeaking(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 10000))
	}
}

//go:noinline
func keepChurning(n int) {
	for i := 0; i < n; i++ {
		sink = make([]byte, 4000)
	}
}

var sink []byte

func main() {
	runtime.MemProfileRate = 1
	for _, name := range os.Args[1:] {
		keepLeaking(100)
		keepChurning(3000)
		runtime.GC()
		f, err := os.Create(name)
		if err == nil {
			err = pprof.WriteHeapProfile(f)
		}
		if err != nil {
			panic(err)
		}
		f.Close()
	}
}
