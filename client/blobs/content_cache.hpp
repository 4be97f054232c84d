// What was fetched, up to so many bytes; what was not used for longest goes. One thread at a time.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

namespace muster::detail {

class content_cache {
 public:
  using content = std::shared_ptr<std::string const>;

  explicit content_cache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Null: it is not here.
  content find(std::string const& hash) {
    auto const it = places_.find(hash);
    if (it == places_.end()) return {};
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }
  /// Larger than all of it: it does not stay.
  void add(std::string const& hash, content const& c) {
    if (c->size() > bytes_max_ || places_.contains(hash)) return;
    order_.emplace_front(hash, c);
    places_.emplace(hash, order_.begin());
    bytes_ += c->size();
    while (bytes_ > bytes_max_) {
      auto const& [oldest, what] = order_.back();
      bytes_ -= what->size();
      places_.erase(oldest);
      order_.pop_back();
    }
  }
  std::size_t bytes() const { return bytes_; }

 private:
  using entries = std::list<std::pair<std::string, content>>;

  std::size_t const bytes_max_;
  std::size_t bytes_ = 0;
  entries order_;  // newest first
  std::unordered_map<std::string, entries::iterator> places_;
};

}  // namespace muster::detail
