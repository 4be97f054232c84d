#include "server/hub/id_parsing.hpp"

#include "base/text.hpp"

namespace muster::server {

namespace {

template <class Id>
std::optional<Id> parse(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() != prefix.size() + 16) return {};
  std::uint64_t n = 0;
  for (char const c : text.substr(prefix.size())) {
    auto const digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) return {};
    n = n << 4 | digit;
  }
  return Id{n};
}

}  // namespace

std::string value_text(core::closure_id id) {
  return "rv_" + hex16(core::raw(id));
}

std::optional<core::session_id> parse_job(std::string_view text) {
  return parse<core::session_id>(text, "job_");
}
std::optional<core::closure_id> parse_closure(std::string_view text) {
  return parse<core::closure_id>(text, "cl_");
}
std::optional<core::closure_id> parse_value(std::string_view text) {
  return parse<core::closure_id>(text, "rv_");
}
std::optional<core::per_worker_id> parse_per_worker(std::string_view text) {
  return parse<core::per_worker_id>(text, "pw_");
}
std::optional<core::program_id> parse_program(std::string_view text) {
  return parse<core::program_id>(text, "prog_");
}
std::optional<core::object_id> parse_object(std::string_view text) {
  return parse<core::object_id>(text, "obj_");
}
std::optional<core::dataset_id> parse_dataset(std::string_view text) {
  return parse<core::dataset_id>(text, "ds_");
}

}  // namespace muster::server
