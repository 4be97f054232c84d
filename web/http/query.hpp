// Typed access to query parameters. The dispatcher has already checked them against the route's
// description; a reader used without that check records the failure itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "web/http/http.hpp"
#include "web/http/route.hpp"
#include "web/json/schema.hpp"

namespace muster::web {

/// Maximum time that a request can wait; longer timeouts are reduced to it.
inline constexpr std::chrono::milliseconds wait_max = std::chrono::minutes(10);
inline constexpr std::chrono::milliseconds wait_default = std::chrono::seconds(30);

class query_check {
 public:
  explicit query_check(request const& r) : request_(r) {}

  bool failed() const { return failure_.has_value(); }
  problem const& failure() const { return *failure_; }
  void fail(std::string_view name, std::string what) {
    if (!failure_) failure_ = invalid(std::string(name), std::move(what));
  }

  /// Checks a parameter against its description and records a failure if it is invalid. A missing
  /// parameter is valid unless it is required.
  void check(query_parameter const& p);

  std::string_view text(std::string_view name) const { return request_.parameter(name); }
  std::size_t limit();
  std::chrono::milliseconds timeout() { return duration("timeout", wait_default); }
  /// Returns a duration, reduced to wait_max, or `otherwise` if the parameter is missing.
  std::chrono::milliseconds duration(std::string_view name, std::chrono::milliseconds otherwise);
  bool flag(std::string_view name, bool otherwise = false);
  /// Returns the number in a page token with this letter, or 0 if there is no token.
  std::uint64_t page_token(char kind);
  /// Returns the letter and number of a page token, for listings with several sections. Without a
  /// token, returns the first letter and 0.
  std::pair<char, std::uint64_t> page_token(std::string_view kinds);
  /// Returns the text in a page token, or an empty string if there is no token.
  std::string page_text(char kind);
  /// Returns an integer, or `otherwise` if the parameter is missing.
  std::uint64_t number(std::string_view name, std::uint64_t otherwise);

 private:
  void check_number(query_parameter const& p, std::string_view given);
  void check_choice(query_parameter const& p, std::string_view given);
  std::optional<std::string> token_of(std::string_view kinds);

  request const& request_;
  std::optional<problem> failure_;
};

/// Returns a page token: the listing's letter, followed by hex digits. A number has 16 digits; a
/// text has two for each byte.
std::string page_token(char kind, std::uint64_t cursor);
std::string page_token(char kind, std::string_view cursor);

schema::json schema_of(query_parameter const& p);

/// Parses the part of the target after '?'. Returns a problem if an escape is malformed or a name
/// is repeated.
std::optional<problem> parse_query(std::string_view text, request& into);

}  // namespace muster::web
