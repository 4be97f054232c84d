// Ids as text, and back.
#include "web/json/id_text.hpp"

#include "base/text.hpp"

namespace muster::web {

namespace {

std::optional<std::uint64_t> parse_id(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  if (text.size() != 16) return {};
  std::uint64_t n = 0;
  for (char const c : text) {
    auto const digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return {};
    n = n << 4 | digit;
  }
  return n;
}

template <class Id>
std::optional<Id> as_id(std::optional<std::uint64_t> n) {
  if (!n) return {};
  return Id{*n};
}

}  // namespace

std::string job_text(core::session_id id) {
  return "job_" + hex16(core::raw(id));
}
std::string closure_text(core::closure_id id) {
  return "cl_" + hex16(core::raw(id));
}
std::string value_text(core::closure_id id) {
  return "rv_" + hex16(core::raw(id));
}
std::string per_worker_text(core::per_worker_id id) {
  return "pw_" + hex16(core::raw(id));
}

std::optional<core::session_id> parse_job(std::string_view text) {
  return as_id<core::session_id>(parse_id(text, "job_"));
}
std::optional<core::closure_id> parse_closure(std::string_view text) {
  return as_id<core::closure_id>(parse_id(text, "cl_"));
}
std::optional<core::closure_id> parse_value(std::string_view text) {
  return as_id<core::closure_id>(parse_id(text, "rv_"));
}
std::optional<core::per_worker_id> parse_per_worker(std::string_view text) {
  return as_id<core::per_worker_id>(parse_id(text, "pw_"));
}

}  // namespace muster::web
