import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Works, allocates, waits for a lock and parks, in three labelled threads,
 * for so many seconds. */
class jfr_work {
	static final Object lock = new Object();
	static volatile long sink;
	static final List<byte[]> kept = new ArrayList<>();

	static long fib(int n)
	{
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static void allocate()
	{
		for (int i = 0; i < 2000; i++) {
			byte[] b = new byte[1000 + i % 7];
			sink += b.length;
			if (i % 500 == 0 && kept.size() < 2000)
				kept.add(b);
		}
		sink += new byte[3 << 20].length;
	}

	static void locked()
	{
		synchronized (lock) {
			long end = System.nanoTime() + 15_000_000;
			while (System.nanoTime() < end)
				sink++;
		}
	}

	static void work(int thread, long end) throws Exception
	{
		LabelsSet labels = new LabelsSet("region",
		    thread == 0 ? "eu" : "us");
		while (System.nanoTime() < end) {
			Pyroscope.LabelsWrapper.run(labels,
			    () -> { sink += fib(27); });
			if (thread == 0)
				allocate();
			locked();
			LockSupport.parkNanos(25_000_000);
		}
	}

	public static void main(String[] args) throws Exception
	{
		long end = System.nanoTime() +
		    Long.parseLong(args[0]) * 1_000_000_000L;
		Thread[] threads = new Thread[3];
		for (int i = 0; i < 3; i++) {
			int n = i;
			threads[i] = new Thread(() -> {
				try {
					work(n, end);
				} catch (Exception e) {
					throw new IllegalStateException(e);
				}
			});
			threads[i].start();
		}
		for (Thread t : threads)
			t.join();
	}
}
