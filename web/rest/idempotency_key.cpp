#include "web/rest/idempotency_key.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "server/core/api/idempotency.hpp"
#include "server/disk/sha256.hpp"

namespace muster::web {

namespace {

constexpr std::string_view key_member = "idempotency_key";

// The length prefix gives different sequences of texts different hashes.
void add_text(server::sha256& hash, std::string_view text) {
  hash.add(std::to_string(text.size()));
  hash.add(":");
  hash.add(text);
}

// The recursion depth is at most json_depth_max.
void add_value(server::sha256& hash, json_ref const& value, std::string_view without = {}) {
  switch (value.type()) {
    case json_type::object: {
      std::vector<std::pair<std::string, std::string_view>> members;
      for (json_walk m(value); m.next();)
        if (auto key = m.key(); key != without || without.empty())
          members.emplace_back(std::move(key), m.value().text());
      // If several members have the same name, the last member is used. All of these members are
      // hashed, in their order.
      std::stable_sort(members.begin(), members.end(),
                       [](auto const& a, auto const& b) { return a.first < b.first; });
      hash.add("{");
      for (auto const& [key, text] : members) {
        add_text(hash, key);
        add_value(hash, json_ref(text));
      }
      return hash.add("}");
    }
    case json_type::array:
      hash.add("[");
      for (json_walk e(value); e.next();) add_value(hash, e.value());
      return hash.add("]");
    case json_type::string:
      hash.add("s");
      return add_text(hash, value.string());
    case json_type::null:
    case json_type::boolean:
    case json_type::number:
      return add_text(hash, value.text());
  }
}

}  // namespace

std::optional<problem> take_idempotency_key(request const& req, std::string& key) {
  std::string_view given = req.idempotency_key;
  if (given.size() >= 2 && given.front() == '"' && given.back() == '"')
    given = given.substr(1, given.size() - 2);
  if (given.empty()) return {};
  if (!is_utf8(given)) return invalid("Idempotency-Key", "expected valid UTF-8");
  if (given.size() > core::idempotency_key_bytes_max)
    return too_many_bytes("Idempotency-Key", given, core::idempotency_key_bytes_max);
  if (!key.empty() && key != given)
    return impossible("Idempotency-Key", "the body contains a different 'idempotency_key'");
  key = given;
  return {};
}

std::string request_digest(json_ref const& body) {
  server::sha256 hash;
  add_value(hash, body, key_member);
  return hash.digest();
}

}  // namespace muster::web
