// Answers requests from history on disk. The store reads on its own thread, so neither the engine
// nor the web thread waits. At the time limit, a page ends with a token, and a summary reports the
// time up to which it is complete.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/history/store/history_reader.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"

namespace muster::web {

/// A summary cannot be continued, so it can take longer than a page.
inline constexpr std::chrono::milliseconds page_read_for{250}, summary_read_for{2'000};
inline constexpr std::size_t past_bytes_max = std::size_t{4} << 20;
/// Rows are written within about a second, or later under heavy load.
inline constexpr auto write_delay_max = std::chrono::minutes(1);

struct history_query {
  core::time_point from{}, to = core::never;
  server::history_place place{};
  std::uint32_t passed = 0;
  std::size_t limit = 0;

  bool takes(core::time_point at) const { return at >= from && at <= to; }
  bool over(core::time_point written) const {
    return to != core::never && written > to + write_delay_max;
  }
};

inline constexpr query_parameter from_parameter{.name = "from_ms",
                                                .kind = query_kind::number,
                                                .meaning = "only entries at or after this time",
                                                .max = 9'000'000'000'000};
inline constexpr query_parameter to_parameter{.name = "to_ms",
                                              .kind = query_kind::number,
                                              .meaning = "only entries at or before this time",
                                              .max = 9'000'000'000'000};
inline constexpr query_parameter history_token_parameter =
    page_token_parameter("y", query_kind::page_text);
bool has_time_range(query_check const& query);
std::optional<problem> read_time_range(query_check& query, history_query& into);
std::optional<problem> read_history_query(query_check& query, history_query& into);
std::string token_behind(server::history_place at, std::uint32_t rows);

template <class Row>
struct history_page {
  std::vector<Row> items;
  std::string next;  // page token; empty on the last page
};

/// `rows_of(bytes, unreadable)` decodes a record, and `takes(row)` selects its rows. The store
/// skips and counts rows that it cannot decode.
template <class RowsOf, class Takes>
auto read_page(server::history_store const& store, server::history_kind kind,
               history_query const& q, RowsOf rows_of, Takes takes) {
  using rows = std::decay_t<decltype(rows_of(std::string_view(), nullptr))>;
  history_page<typename rows::value_type> page;
  std::size_t bytes = 0;
  auto const until = std::chrono::steady_clock::now() + page_read_for;
  store.scan(kind, q.place, [&](server::history_place at, std::string_view record) {
    if (q.over(at.at)) return false;
    auto all = store.decoded(kind, at, record, rows_of);
    std::uint32_t i = at == q.place ? q.passed : 0;
    auto const before = page.items.size();
    for (; i < all.size(); ++i) {
      if (!takes(all[i])) continue;
      if (page.items.size() == q.limit) break;
      page.items.push_back(std::move(all[i]));
    }
    if (page.items.size() > before) bytes += record.size();
    if (i >= all.size() && bytes < past_bytes_max && std::chrono::steady_clock::now() < until)
      return true;
    page.next = token_behind(at, i);
    return false;
  });
  return page;
}

/// Returns a predicate for the visible clusters; an empty name means the main cluster. The deleted
/// cluster of a program is visible only to callers that see the whole server. Must be called on the
/// engine thread; the predicate can be called on any thread.
std::function<bool(std::string_view cluster)> visible_clusters(engine_services& services,
                                                               server::shared_scope const& scope);

/// `prepare(services)` runs on the engine and returns `read(store)`. The response contains the R
/// that `read` returns.
template <class R, class Prepare, class Tell>
coro::task<response> answer_from_history(web_context& context, exchange& ex, Prepare prepare,
                                         Tell tell) {
  auto work = [past = context.options.outlets.past, prepare = std::move(prepare)](
                  engine_services& services, answer_handle<muster::result<R>> const& slot) {
    auto read = prepare(services);
    auto const taken =
        past->ask([slot, read = std::move(read)](auto const& store) { slot->send(read(store)); });
    if (!taken.ok()) slot->send(taken);
  };
  // Includes all requests queued before this request.
  constexpr auto patience = summary_read_for * (server::history_reader::questions_max + 1);
  return wait<R>(context, ex, patience, std::move(work), std::move(tell));
}

inline bool keeps_history(web_context const& context) {
  auto const* const past = context.options.outlets.past;
  return past && past->there();
}
problem no_history_problem();

}  // namespace muster::web
