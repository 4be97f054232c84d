// Saves an unordered map whose order of iteration is seen from outside, so that it is the same
// after it was loaded: as many buckets, and an element goes in before those of its bucket.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

namespace muster::core {

template <class Archive, class Key, class T>
void walk_in_order(Archive& a, std::unordered_map<Key, std::unique_ptr<T>>& map) {
  std::vector<Key> keys;
  for (auto const& [key, value] : map) keys.push_back(key);
  auto buckets = map.bucket_count();
  a(buckets, keys);
  if constexpr (Archive::loading) {
    map.clear();
    map.rehash(buckets);
    for (auto it = keys.rbegin(); it != keys.rend(); ++it) map.emplace(*it, std::make_unique<T>());
  }
  for (auto const& key : keys) a(*map.at(key));
}

}  // namespace muster::core
