/*
 * A recursive-descent checker of JSON. It builds no tree: the service stores
 * the posted text as it came and wants only its "id".
 */

#include "kvservice_json.h"

#include <cstdint>
#include <cstdio>

namespace kv {

namespace {

constexpr int depth_max = 64;

class Scanner {
public:
	explicit Scanner(std::string_view text) : text_(text) {}

	bool Document(std::string *id);

private:
	bool Value(int depth);
	bool Object(int depth, std::string *id, bool *found);
	bool Member(int depth, std::string *id, bool *found);
	bool Array(int depth);
	bool String(std::string *out);
	bool Escape(std::string *out);
	bool Unicode(std::string *out);
	bool Hex4(uint32_t *out);
	bool Number();
	bool Digits();
	bool Word(std::string_view word);
	void Space();
	bool Eat(char c);
	int Peek() const
	{
		return at_ < text_.size() ? (unsigned char)text_[at_] : -1;
	}

	std::string_view text_;
	size_t at_ = 0;
};

void
append_utf8(std::string *out, uint32_t c)
{
	if (c < 0x80) {
		out->push_back((char)c);
		return;
	}
	if (c < 0x800) {
		out->push_back((char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			out->push_back((char)(0xe0 | c >> 12));
		} else {
			out->push_back((char)(0xf0 | c >> 18));
			out->push_back((char)(0x80 | (c >> 12 & 0x3f)));
		}
		out->push_back((char)(0x80 | (c >> 6 & 0x3f)));
	}
	out->push_back((char)(0x80 | (c & 0x3f)));
}

void
Scanner::Space()
{
	while (Peek() == ' ' || Peek() == '\t' || Peek() == '\n' ||
	    Peek() == '\r')
		at_++;
}

bool
Scanner::Eat(char c)
{
	if (Peek() != (unsigned char)c)
		return false;
	at_++;
	return true;
}

bool
Scanner::Word(std::string_view word)
{
	if (text_.substr(at_, word.size()) != word)
		return false;
	at_ += word.size();
	return true;
}

bool
Scanner::Digits()
{
	size_t from = at_;
	while (Peek() >= '0' && Peek() <= '9')
		at_++;
	return at_ > from;
}

bool
Scanner::Number()
{
	Eat('-');
	if (!Eat('0') && !Digits())
		return false;
	if (Eat('.') && !Digits())
		return false;
	if (Eat('e') || Eat('E')) {
		if (!Eat('+'))
			Eat('-');
		return Digits();
	}
	return true;
}

bool
Scanner::Hex4(uint32_t *out)
{
	*out = 0;
	for (int i = 0; i < 4; i++, at_++) {
		int c = Peek();
		uint32_t digit;
		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10;
		else
			return false;
		*out = *out << 4 | digit;
	}
	return true;
}

bool
Scanner::Unicode(std::string *out)
{
	uint32_t c, low;
	if (!Hex4(&c))
		return false;
	if (c >= 0xd800 && c < 0xdc00) {
		if (!Word("\\u") || !Hex4(&low) || low < 0xdc00 ||
		    low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc00 && c <= 0xdfff) {
		return false;
	}
	append_utf8(out, c);
	return true;
}

bool
Scanner::Escape(std::string *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	if (Eat('u'))
		return Unicode(out);
	for (int i = 0; from[i] != '\0'; i++) {
		if (Eat(from[i])) {
			out->push_back(to[i]);
			return true;
		}
	}
	return false;
}

bool
Scanner::String(std::string *out)
{
	if (!Eat('"'))
		return false;
	for (;;) {
		int c = Peek();
		if (c < 0x20)
			return false;
		at_++;
		if (c == '"')
			return true;
		if (c != '\\')
			out->push_back((char)c);
		else if (!Escape(out))
			return false;
	}
}

bool
Scanner::Array(int depth)
{
	Eat('[');
	Space();
	if (Eat(']'))
		return true;
	do {
		if (!Value(depth + 1))
			return false;
	} while (Eat(','));
	return Eat(']');
}

bool
Scanner::Member(int depth, std::string *id, bool *found)
{
	std::string name;
	Space();
	if (!String(&name))
		return false;
	Space();
	if (!Eat(':'))
		return false;
	Space();
	if (depth == 0 && name == "id" && !*found && Peek() == '"') {
		*found = true;
		id->clear();
		bool ok = String(id);
		Space();
		return ok;
	}
	return Value(depth + 1);
}

bool
Scanner::Object(int depth, std::string *id, bool *found)
{
	Eat('{');
	Space();
	if (Eat('}'))
		return true;
	do {
		if (!Member(depth, id, found))
			return false;
	} while (Eat(','));
	return Eat('}');
}

/* Takes the space on both sides. */
bool
Scanner::Value(int depth)
{
	std::string ignored;
	bool found = true, ok;
	if (depth > depth_max)
		return false;
	Space();
	switch (Peek()) {
	case '{': ok = Object(depth, &ignored, &found); break;
	case '[': ok = Array(depth); break;
	case '"': ok = String(&ignored); break;
	case 't': ok = Word("true"); break;
	case 'f': ok = Word("false"); break;
	case 'n': ok = Word("null"); break;
	default: ok = Number(); break;
	}
	Space();
	return ok;
}

bool
Scanner::Document(std::string *id)
{
	bool found = false;
	Space();
	if (Peek() != '{' || !Object(0, id, &found))
		return false;
	Space();
	return found && at_ == text_.size();
}

} // namespace

bool
json_object_id(std::string_view text, std::string *id)
{
	return Scanner(text).Document(id);
}

std::string
json_quote(std::string_view text)
{
	std::string out = "\"";
	for (char c : text) {
		char escaped[8];
		if (c == '"' || c == '\\') {
			out.push_back('\\');
			out.push_back(c);
		} else if (c == '\n') {
			out += "\\n";
		} else if ((unsigned char)c < 0x20) {
			std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
			out += escaped;
		} else {
			out.push_back(c);
		}
	}
	out.push_back('"');
	return out;
}

} // namespace kv
