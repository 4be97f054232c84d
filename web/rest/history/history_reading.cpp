#include "web/rest/history/history_reading.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "server/hub/access/program_scope.hpp"

namespace muster::web {

namespace {

constexpr std::size_t place_bytes = 16;  // time in µs, record number, and number of rows

std::uint64_t number_in(std::string_view bytes) {
  std::uint64_t n = 0;
  for (unsigned char const byte : bytes) n = n << 8 | byte;
  return n;
}

void append_number(std::string& to, std::uint64_t n, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to += static_cast<char>(n >> shift);
}

core::time_point from_ms(std::uint64_t ms) {
  return core::time_point(std::chrono::milliseconds(static_cast<std::int64_t>(ms)));
}

}  // namespace

bool has_time_range(query_check const& query) {
  return !query.text("from_ms").empty() || !query.text("to_ms").empty();
}

std::optional<problem> read_time_range(query_check& query, history_query& into) {
  into.from = from_ms(query.number("from_ms", 0));
  // the whole last millisecond is included
  if (!query.text("to_ms").empty())
    into.to = from_ms(query.number("to_ms", 0)) + std::chrono::microseconds(999);
  if (into.to < into.from) return impossible("to_ms", "must not be earlier than 'from_ms'");
  return {};
}

std::optional<problem> read_history_query(query_check& query, history_query& into) {
  if (auto wrong = read_time_range(query, into)) return wrong;
  into.limit = query.limit();
  into.place.at = into.from;
  std::string_view const token = query.text("page_token");
  if (token.empty()) return {};
  // Any well-formed token is accepted. If there is no record at its position, nothing is returned.
  auto bytes = query.page_text('y');
  if (query.failed()) return query.failure();
  bytes.resize(place_bytes);
  std::string_view const text = bytes;
  into.place.at = core::time_point(
      core::duration(static_cast<std::int64_t>(number_in(text.substr(0, 8)) & INT64_MAX)));
  into.place.number = static_cast<std::uint32_t>(number_in(text.substr(8, 4)));
  into.passed = static_cast<std::uint32_t>(number_in(text.substr(12)));
  return {};
}

std::string token_behind(server::history_place at, std::uint32_t rows) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(at.at.time_since_epoch().count()), 8);
  append_number(bytes, at.number, 4);
  append_number(bytes, rows, 4);
  return page_token('y', std::string_view(bytes));
}

std::function<bool(std::string_view)> visible_clusters(engine_services& services,
                                                       server::shared_scope const& scope) {
  if (scope->whole()) return [](std::string_view) { return true; };
  auto seen = std::make_shared<std::set<std::string, std::less<>>>();
  auto const& all = services.coordination.state();
  for (auto const c : all.ids())
    if (auto const& name = all.spec(c).name; server::sees(*scope, services.pools, name))
      seen->insert(name);
  return [seen, scope](std::string_view cluster) {
    return seen->contains(cluster) || scope->sees(cluster);
  };
}

problem no_history_problem() {
  return make_problem(
      409, code::failed_precondition,
      "this server does not store history; start it with --data-dir or --history-dir");
}

}  // namespace muster::web
