/*
 * The little JSON that kvservice needs: is a text one well-formed object,
 * what is its member "id", and how is a string written.
 */

#ifndef KVSERVICE_JSON_H
#define KVSERVICE_JSON_H

#include <string>
#include <string_view>

namespace kv {

/*
 * True if text is one JSON object (RFC 8259, at most 64 deep) with a string
 * member "id"; the first such member, unescaped to UTF-8, goes to *id.
 */
bool json_object_id(std::string_view text, std::string *id);

/* text as a JSON string, quotes included; bytes over 0x7f go as they are. */
std::string json_quote(std::string_view text);

} // namespace kv

#endif
