#include "server/hub/access/refusals.hpp"

#include <algorithm>
#include <utility>

namespace muster::server {
namespace {

void count(refused& r, refusals::kind k, std::string_view what) {
  ++(k == refusals::kind::without ? r.without : k == refusals::kind::wrong ? r.wrong : r.forbidden);
  r.last = what;
}

bool is_empty(refused const& r) {
  return r.without + r.wrong + r.forbidden == 0;
}

}  // namespace

std::chrono::milliseconds refusals::note(std::string_view address, kind k, std::string_view what,
                                         clock::time_point now) {
  auto it = by_address_.find(address);
  if (it == by_address_.end()) {
    if (by_address_.size() >= addresses_max) forget(now);
    if (by_address_.size() >= addresses_max) {
      count(others_, k, what);
      return k == kind::wrong ? delay_first : std::chrono::milliseconds(0);
    }
    it = by_address_.emplace(address, entry{}).first;
    it->second.told.address = address;
  }
  auto& e = it->second;
  count(e.told, k, what);
  if (k != kind::wrong) return std::chrono::milliseconds(0);
  if (now - e.last_wrong > forgiven_after) e.wrong_in_a_row = 0;
  e.last_wrong = now;
  auto const doublings = std::min(e.wrong_in_a_row++, 16u);
  return std::min(delay_first * (1 << doublings), delay_max);
}

void refusals::forget(clock::time_point now) {
  std::erase_if(by_address_, [&](auto const& one) {
    return is_empty(one.second.told) && now - one.second.last_wrong > forgiven_after;
  });
}

std::vector<refused> refusals::take(clock::time_point now) {
  std::vector<refused> all;
  for (auto& [address, e] : by_address_) {
    if (is_empty(e.told)) continue;
    all.push_back(std::exchange(e.told, refused{address}));
  }
  if (!is_empty(others_)) all.push_back(std::exchange(others_, {}));
  forget(now);
  return all;
}

}  // namespace muster::server
