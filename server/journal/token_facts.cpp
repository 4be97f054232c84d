// Stores each token as one entry with the key "u\0ID".
#include "server/core/access/token_fields.hpp"
#include "server/journal/described_entry.hpp"
#include "server/journal/fact_encoding.hpp"

namespace muster::server::journal {
namespace {

using namespace std::string_view_literals;
constexpr auto prefix = "u\0"sv;

}  // namespace

void encode(core::token_change const& f, std::vector<change>& into) {
  auto key = std::string(prefix) + f.id;
  if (!f.now) return into.push_back({change::kind::erase, std::move(key), {}});
  into.push_back({change::kind::put, std::move(key), encoded_entry(*f.now)});
}

muster::result<std::vector<core::token>> load_tokens(store const& s) {
  std::vector<core::token> all;
  muster::status bad;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    core::token t;
    t.id = key.substr(prefix.size());
    bool in_range = true;  // a token with an unknown role is an error
    if (!decode_entry(value, t, in_range) || !in_range) {
      bad = {code::internal, "the entry of token '" + t.id + "' cannot be read"};
      return false;
    }
    all.push_back(std::move(t));
    return true;
  });
  if (!read.ok()) return read;
  if (!bad.ok()) return bad;
  return all;
}

}  // namespace muster::server::journal
