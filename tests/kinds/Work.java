/** Work for the table of kinds: compiled methods, allocations, a sort. */
public class Work {
	static volatile long sink;

	static long burn(long n, long x) {
		for (long i = 0; i < n; i++)
			x = x * 6364136223846793005L + (x >>> 7);
		return x;
	}

	static long heavy(long x) {
		return burn(300000, x) ^ 1;
	}

	static long light(long x) {
		return burn(100000, x) ^ 2;
	}

	static long sortSome(long x) {
		Long[] v = new Long[1000];
		for (int i = 0; i < v.length; i++)
			v[i] = (i ^ x) * 25214903917L;
		java.util.Arrays.sort(v, (a, b) -> Long.compare(a, b));
		return v[7];
	}

	public static void main(String[] args) {
		for (;;)
			sink = heavy(sink) ^ light(sink) ^ sortSome(sink);
	}
}
