// Cache of fetched blobs, limited in bytes; evicts the least recently used blob. Not thread-safe.
#pragma once

#include <list>
#include <string>
#include <unordered_map>

#include "muster/blobs.hpp"

namespace muster::detail {

class content_cache {
 public:
  explicit content_cache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Returns an empty pointer if the blob is not cached.
  blob_bytes find(std::string const& name) {
    auto const it = places_.find(name);
    if (it == places_.end()) return {};
    order_.splice(order_.begin(), order_, it->second);
    return it->second->second;
  }
  /// Adds a blob. Ignores a blob that is larger than the whole cache.
  void add(std::string const& name, blob_bytes const& c) {
    if (c->size() > bytes_max_ || places_.contains(name)) return;
    order_.emplace_front(name, c);
    places_.emplace(name, order_.begin());
    bytes_ += c->size();
    while (bytes_ > bytes_max_) erase(order_.back().first);
  }
  void erase(std::string const& name) {
    auto const it = places_.find(name);
    if (it == places_.end()) return;
    bytes_ -= it->second->second->size();
    order_.erase(it->second);
    places_.erase(it);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  using entries = std::list<std::pair<std::string, blob_bytes>>;

  std::size_t const bytes_max_;
  std::size_t bytes_ = 0;
  entries order_;  // sorted by last use, newest first
  std::unordered_map<std::string, entries::iterator> places_;
};

}  // namespace muster::detail
