// A token as OAuth servers give it, kept until shortly before it expires. Used by one thread.
#pragma once

#include <chrono>
#include <string>

#include "cluster/http/json_place.hpp"

namespace muster::cluster {

class access_token {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  bool good_at(time_point now) const { return !text_.empty() && now < until_; }
  std::string const& text() const { return text_; }
  /// {"access_token": "…", "expires_in": 3599}. missing, invalid: a member, by its place.
  void take(json_place const& answer, time_point now);

 private:
  std::string text_;
  time_point until_{};
};

}  // namespace muster::cluster
