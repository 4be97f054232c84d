// Assigns the GPUs of a machine to ranks. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

class devices {
 public:
  /// `visible` is the worker's CUDA_VISIBLE_DEVICES; if empty, devices are numbered from 0.
  devices(std::uint32_t count, std::string const& visible) {
    for (std::size_t begin = 0; !visible.empty() && begin <= visible.size();) {
      auto const end = std::min(visible.find(',', begin), visible.size());
      if (end > begin && free_.size() < count) free_.push_back(visible.substr(begin, end - begin));
      begin = end + 1;
    }
    if (visible.empty())
      for (std::uint32_t i = 0; i < count; ++i) free_.push_back(std::to_string(i));
  }

  /// Returns fewer devices if not enough are free.
  std::vector<std::string> take(std::size_t count) {
    auto const end = free_.begin() + static_cast<std::ptrdiff_t>(std::min(count, free_.size()));
    std::vector<std::string> taken(free_.begin(), end);
    free_.erase(free_.begin(), end);
    return taken;
  }
  void give_back(std::vector<std::string>& taken) {
    free_.insert(free_.end(), taken.begin(), taken.end());
    std::sort(free_.begin(), free_.end(), [](auto const& a, auto const& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    taken.clear();
  }

 private:
  std::vector<std::string> free_;
};

}  // namespace muster
