/*
 * A unit of a large program with debug information, for the benchmark of
 * names: the standard library's templates over types of this unit alone.
 * It is compiled a few times with another UNIT and never run.
 */
#include <algorithm>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

namespace JOIN(unit, UNIT) {

template <int N> struct Key {
	std::string name;
	std::vector<int> parts;
	bool operator<(const Key &o) const
	{
		return name < o.name || (name == o.name && parts < o.parts);
	}
	bool operator==(const Key &o) const
	{
		return name == o.name && parts == o.parts;
	}
};

template <int N> struct Hash {
	size_t operator()(const Key<N> &k) const
	{
		return std::hash<std::string>()(k.name) + N;
	}
};

template <int N> struct Table {
	using Value = std::variant<int, std::string, std::vector<Key<N>>>;
	std::map<Key<N>, Value> sorted;
	std::unordered_map<Key<N>, std::shared_ptr<Value>, Hash<N>> hashed;
	std::deque<std::function<Value(const Key<N> &)>> makers;

	void Put(const Key<N> &k, const Value &v)
	{
		sorted[k] = v;
		hashed.emplace(k, std::make_shared<Value>(v));
		makers.push_back([v](const Key<N> &x) {
			return x.parts.empty() ? Value(x.name) : v;
		});
	}
	std::string Print() const
	{
		std::ostringstream out;
		for (const auto &[k, v] : sorted)
			std::visit([&](const auto &x) {
				using X = std::decay_t<decltype(x)>;
				if constexpr (std::is_same_v<X, std::string>)
					out << k.name << x;
				else if constexpr (std::is_same_v<X, int>)
					out << k.name << x + N;
				else
					out << k.name << x.size();
			}, v);
		return out.str();
	}
	std::vector<Key<N>> Keys() const
	{
		std::vector<Key<N>> keys;
		for (const auto &[k, v] : hashed)
			keys.push_back(k);
		std::sort(keys.begin(), keys.end());
		keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
		std::stable_sort(keys.begin(), keys.end(),
		    [](const Key<N> &a, const Key<N> &b) {
			    return a.parts.size() < b.parts.size();
		    });
		return keys;
	}
	size_t Run(const std::string &text)
	{
		auto later = std::async(std::launch::deferred,
		    [this] { return Print().size(); });
		std::set<Key<N>> seen;
		for (char c : text)
			Put(Key<N>{std::string(N, c), {N, c}}, int(c));
		for (auto &k : Keys())
			if (seen.insert(k).second)
				for (auto &m : makers)
					Put(k, m(k));
		return later.get() + seen.size();
	}
};

template <int N> size_t run(const std::string &text)
{
	if constexpr (N == 0)
		return text.size();
	else
		return Table<N>().Run(text) + run<N - 1>(text);
}

} /* namespace */

extern "C" size_t JOIN(run, UNIT)(const char *text)
{
	return JOIN(unit, UNIT)::run<TABLES>(text);
}
