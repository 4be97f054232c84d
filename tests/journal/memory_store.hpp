// A store in memory, for tests.
#pragma once

#include <map>

#include "server/journal/store.hpp"

namespace muster::server::journal {

class memory_store final : public store {
 public:
  muster::status write(std::vector<change> const& batch) override {
    for (auto const& c : batch) {
      if (c.what == change::kind::put) {
        entries_[c.key] = c.value;
      } else if (c.what == change::kind::erase) {
        entries_.erase(c.key);
      } else {
        auto it = entries_.lower_bound(c.key);
        while (it != entries_.end() && it->first.starts_with(c.key)) it = entries_.erase(it);
      }
    }
    return {};
  }
  muster::status read(std::string_view prefix, visitor const& v) const override {
    for (auto it = entries_.lower_bound(std::string(prefix));
         it != entries_.end() && it->first.starts_with(prefix); ++it)
      if (!v(it->first, it->second)) break;
    return {};
  }
  std::uint64_t bytes_on_disk() const override { return 0; }

 private:
  std::map<std::string, std::string> entries_;
};

}  // namespace muster::server::journal
