// Coroutines of C++20, one that asks another, and an exception now and then.
#include <coroutine>
#include <cstdint>
#include <exception>
#include <stdexcept>

static volatile uint64_t sink;

[[gnu::noinline]] static void burn(unsigned n)
{
	uint64_t x = sink;

	while (n-- > 0)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}

struct numbers {
	struct promise_type {
		uint64_t value;
		numbers get_return_object()
		{
			return {std::coroutine_handle<
			    promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(uint64_t v)
		{
			value = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
	std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] static void throw_some(uint64_t n)
{
	burn(1000);
	if (n % 2 == 0)
		throw std::runtime_error("even");
}

static numbers inner()
{
	for (uint64_t n = 0;; n++) {
		burn(20000);
		co_yield n;
	}
}

static numbers outer()
{
	numbers i = inner();

	for (;;) {
		i.handle.resume();
		burn(10000);
		co_yield i.handle.promise().value;
	}
}

int main()
{
	numbers o = outer();

	for (;;) {
		o.handle.resume();
		try {
			throw_some(o.handle.promise().value);
		} catch (const std::exception &) {
			sink = sink + 1;
		}
	}
}
