// waits FOLDER: writes Go's profiles that are no heaps, twice: goroutine.1,
// mutex.1, block.1, and the same with 2 after more of it; and profile, of the
// CPU.
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

//go:noinline
func contend(n int) {
	var m sync.Mutex
	var done sync.WaitGroup
	for i := 0; i < 4; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for k := 0; k < n; k++ {
				m.Lock()
				time.Sleep(200 * time.Microsecond)
				m.Unlock()
			}
		}()
	}
	done.Wait()
}

//go:noinline
func receive(c chan int) {
	<-c
}

//go:noinline
func burn(until time.Time) (n int) {
	for time.Now().Before(until) {
		for i := 0; i < 1000; i++ {
			n += i * i
		}
	}
	return
}

func write(folder, name string, suffix string) {
	f, err := os.Create(folder + "/" + name + suffix)
	must(err)
	must(pprof.Lookup(name).WriteTo(f, 0))
	must(f.Close())
}

func main() {
	folder := os.Args[1]
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	blocked := make(chan int)
	for _, suffix := range []string{".1", ".2"} {
		for i := 0; i < 5; i++ {
			go receive(blocked)
		}
		contend(20)
		time.Sleep(20 * time.Millisecond)
		for _, name := range []string{"goroutine", "mutex", "block"} {
			write(folder, name, suffix)
		}
	}
	f, err := os.Create(folder + "/profile")
	must(err)
	must(pprof.StartCPUProfile(f))
	burn(time.Now().Add(500 * time.Millisecond))
	pprof.StopCPUProfile()
	must(f.Close())
}
