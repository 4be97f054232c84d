// Query parameters as typed values. What comes was checked by the route's description before the
// handler runs, so readers find what they expect; one that is used without keeps what is wrong.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/http.hpp"
#include "web/http/route.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// No request waits longer than this; larger timeouts are cut down to it.
inline constexpr std::chrono::milliseconds wait_max = std::chrono::minutes(10);
inline constexpr std::chrono::milliseconds wait_default = std::chrono::seconds(30);

class query_check {
 public:
  explicit query_check(request const& r) : request_(r) {}

  bool failed() const { return failure_.has_value(); }
  /// REQUIRES: failed().
  problem const& failure() const { return *failure_; }
  void fail(std::string_view name, std::string what) {
    if (!failure_) failure_ = invalid(std::string(name), std::move(what));
  }

  /// Whether the parameter may be as it is, or not be there.
  void check(query_parameter const& p);

  std::string_view text(std::string_view name) const { return request_.parameter(name); }
  std::size_t limit();
  std::chrono::milliseconds timeout() { return duration("timeout", wait_default); }
  /// Cut down to wait_max.
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise);
  bool flag(std::string_view name, bool otherwise = false);
  /// The number inside an opaque page token of this kind, 0 without one.
  std::uint64_t page_token(char kind);
  /// The same for a listing in several parts, each with a kind of its own; the first without one.
  std::pair<char, std::uint64_t> page_token(std::string_view kinds);
  /// The text inside one; empty without one.
  std::string page_text(char kind);
  /// A whole number, `otherwise` when it is not there.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise);

 private:
  void check_number(query_parameter const& p, std::string_view given);
  void check_choice(query_parameter const& p, std::string_view given);
  std::optional<std::string> token_of(std::string_view kinds);

  request const& request_;
  std::optional<problem> failure_;
};

/// A letter for the listing and hex digits: 16 of a number, two for each byte of a text.
std::string page_token(char kind, std::uint64_t cursor);
std::string page_token(char kind, std::string_view cursor);

/// What a parameter may be, as JSON Schema.
schema::json schema_of(query_parameter const& p);

/// Splits the part behind '?'. A problem when an escape is malformed or a name is given twice.
std::optional<problem> parse_query(std::string_view text, request& into);

}  // namespace muster::web
