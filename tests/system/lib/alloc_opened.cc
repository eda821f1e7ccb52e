/*
 * A library that allocates as it is opened and closed, and whose operators new
 * throw and do not throw, as they should.
 */
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

static std::vector<std::string> at_once(1000, std::string(1000, 'a'));
static std::unique_ptr<char[]> large(new char[3 << 20]);

struct alignas(128) wide {
	char room[1000];
};

extern "C" int
works(void)
{
	volatile size_t huge = size_t(1) << 62;
	auto one = std::make_unique<wide>();

	if (at_once[999].size() != 1000 || large == nullptr ||
	    (reinterpret_cast<uintptr_t>(one.get()) & 127) != 0)
		return 1;
	try {
		delete[] new char[huge];
		return 2;
	} catch (const std::bad_alloc &) {
	}
	try {
		operator delete(operator new(huge, std::align_val_t(128)),
		    std::align_val_t(128));
		return 3;
	} catch (const std::bad_alloc &) {
	}
	return new (std::nothrow) char[huge] != nullptr ? 4 : 0;
}
