// Work for the table of kinds: goroutines, allocations, the collector.
package main

var sink uint64
var kept [64][]uint64

//go:noinline
func burn(n int) {
	x := sink
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink = x
}

//go:noinline
func heavy() { burn(300000); sink++ }

//go:noinline
func light() { burn(100000); sink++ }

//go:noinline
func allocate(n int) {
	for i := 0; i < 100; i++ {
		kept[(n+i)%64] = make([]uint64, 512)
	}
}

//go:noinline
func work(done chan int) {
	for n := 0; n < 100; n++ {
		heavy()
		light()
		allocate(n)
	}
	done <- 1
}

func main() {
	done := make(chan int)
	for {
		go work(done)
		<-done
	}
}
