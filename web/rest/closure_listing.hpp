// Pages of closures and of their values. The engine reads records in steps; this module keeps the
// records that come first in the requested order. Used on the web thread.
//
// A page token contains the last entry. If a request ran out of time, the token also contains the
// position and the entries found so far. A page can therefore be short or empty although a next
// page exists.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/listings.hpp"
#include "web/http/query.hpp"
#include "web/rest/answers.hpp"

namespace muster::web {

inline constexpr std::chrono::milliseconds listing_time{250};

struct listing_cursor {
  /// Maximum number of entries in a token. If a request contains a token with entries, its page has
  /// at most carried_max - 1 entries.
  static constexpr std::size_t carried_max = 51;

  core::closure_cursor from;
  core::found_closure after{};
  core::time_point at{};
  std::vector<core::found_closure> best;
};

struct listing_request {
  core::closure_query query;
  std::string cluster;  // cluster of a query that names no session
  std::size_t limit = 0;
  listing_cursor from;
  std::chrono::milliseconds time = listing_time;
};

struct listing_page {
  std::vector<reported_closure> closures;
  std::optional<listing_cursor> next;
  std::uint64_t looked_at = 0, of = 0;
};

/// Returns NOT_FOUND if the session or cluster does not exist.
coro::task<muster::result<listing_page>> list(web_context& context, listing_request r);

/// Returns a token that is valid only for the order and direction of `q`.
std::string listing_token(char kind, listing_cursor const& p, core::closure_query const& q);
/// Returns the cursor in the token, or the start if there is no token. Returns INVALID_ARGUMENT if
/// the token is malformed or was issued for another order.
muster::result<listing_cursor> listing_place_of(query_check& query, char kind,
                                                core::closure_query const& q);
/// `each` returns the JSON value of a closure, or writes the members of an object.
template <class Each>
void listing_members(member_list const& m, std::string_view name, char kind,
                     listing_page const& page, core::closure_query const& q, Each const& each) {
  m.list(name, page.closures, each);
  m.some("next_page_token", page.next ? listing_token(kind, *page.next, q) : std::string());
  m("looked_at", page.looked_at);
  m("of", page.of);
}
template <class Say>
coro::task<response> answer_listing(web_context& context, query_check& query, char kind,
                                    listing_request r, Say say) {
  auto const place = listing_place_of(query, kind, r.query);
  if (query.failed()) co_return problem_response(query.failure());
  if (!place) co_return problem_response(impossible("page_token", place.error().message));
  r.from = *place;
  auto const asked = r.query;
  auto const page = co_await list(context, std::move(r));
  co_return page ? object_response(say, *page, asked) : problem_response(page.error());
}
inline constexpr std::string_view another_order =
    "The page token belongs to a listing with a different order";

inline constexpr std::string_view listing_directions[] = {"asc", "desc"};
inline constexpr query_parameter listing_order_parameter =
    choice_parameter("order", listing_directions,
                     "direction; default asc. Entries without the sort value are always last");
constexpr query_parameter listing_token_parameter(std::string_view kind) {
  return page_token_parameter(kind, query_kind::page_text,
                              "next_page_token of the previous page; a page can be short or empty "
                              "although more pages follow");
}

}  // namespace muster::web
