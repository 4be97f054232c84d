// Types and limits of fields, with the first fault kept.
#include "web/json/json_check.hpp"

namespace muster::web {

namespace {
std::string with_article(json_type t) {
  if (t == json_type::null) return "null";
  bool const vowel = t == json_type::array || t == json_type::object;
  return (vowel ? "an " : "a ") + std::string(name(t));
}
}  // namespace

bool json_check::is(json_ref const& at, json_type wanted) {
  if (at.type() == wanted) return true;
  fail(at, "expected " + with_article(wanted) + ", got " + std::string(name(at.type())));
  return false;
}

std::string json_check::text(json_ref const& at, std::size_t bytes_max) {
  if (!is(at, json_type::string)) return {};
  auto s = at.string();
  if (s.size() <= bytes_max) return s;
  fail(too_many_bytes(at.path(), s, bytes_max));
  return {};
}

bool json_check::flag(json_ref const& at) {
  return is(at, json_type::boolean) && at.boolean();
}

std::int64_t json_check::integer(json_ref const& at, std::int64_t min, std::int64_t max) {
  if (!is(at, json_type::number)) return min;
  auto const n = at.integer();
  if (n && *n >= min && *n <= max) return *n;
  auto const range = std::to_string(min) + " to " + std::to_string(max);
  fail(at, "expected a whole number from " + range, range);
  return min;
}

}  // namespace muster::web
