// Turns JSON values into typed fields and keeps the first thing that is wrong: ask for everything,
// then look at `failure` once. One per request, web thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "web/json/json_in.hpp"
#include "web/json/problem.hpp"

namespace muster::web {

class json_check {
 public:
  bool failed() const { return failure_.has_value(); }
  /// REQUIRES: failed().
  problem const& failure() const { return *failure_; }

  void fail(problem p) {
    if (!failure_) failure_ = std::move(p);
  }
  void fail(json_ref const& at, std::string what, std::string limit = {}) {
    if (!failure_) failure_ = invalid(at.path(), std::move(what), std::move(limit));
  }
  void unknown(json_ref const& at) { fail(at, "unknown field"); }

  /// True if the value is of this type; else the failure "expected an array, got string".
  bool is(json_ref const& at, json_type wanted);
  /// 400 with more characters than that, 422 with fewer and too many bytes.
  std::string text(json_ref const& at, std::size_t bytes_max);
  bool flag(json_ref const& at);
  std::int64_t integer(json_ref const& at, std::int64_t min, std::int64_t max);

 private:
  std::optional<problem> failure_;
};

}  // namespace muster::web
