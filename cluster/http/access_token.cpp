// How long an OAuth token is kept.
#include "cluster/http/access_token.hpp"

#include <algorithm>

namespace muster::cluster {

using std::chrono::seconds;

namespace {

/// A token that ends sooner is not worth keeping.
constexpr seconds reserve{60};
constexpr seconds age_max{24 * 3600};

}  // namespace

void access_token::take(json_place const& answer, time_point now) {
  text_ = answer.at("access_token").text();
  auto const lasts =
      std::clamp(seconds(answer.at("expires_in").number()), seconds(0), seconds(age_max));
  until_ = now + lasts - reserve;
}

}  // namespace muster::cluster
