// Caches the latest encodings of objects that many callers receive, such as a task list with a
// thousand watchers. The core's shared pointer identifies an object. Used only on the engine
// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace muster::server {

template <class Encoded>
class encoding_cache {
 public:
  /// Returns the encoding of `what` in this format. Calls `make()` unless the encoding is among the
  /// last four. The result is valid until the next call.
  template <class T, class Make>
  Encoded const& get(std::shared_ptr<T const> const& what, std::uint64_t variant, Make make) {
    for (auto const& e : entries_)
      if (e.what == what && e.variant == variant) return e.encoded;
    auto& e = entries_[next_++ % entries_.size()];
    e = {what, variant, make()};
    return e.encoded;
  }

 private:
  struct entry {
    std::shared_ptr<void const> what;  // retained, so that its address is not reused
    std::uint64_t variant = 0;
    Encoded encoded{};
  };
  std::array<entry, 4> entries_;
  std::size_t next_ = 0;
};

}  // namespace muster::server
