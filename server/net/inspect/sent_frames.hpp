// Parses the HTTP/2 frames that a server sends and finds the streams that it ends. Pure; each
// connection has its own object, used by one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace muster::net {

class sent_frames {
 public:
  /// Reads the connection's next bytes, which can end anywhere. Calls `ended(stream)` once it has
  /// read the complete head of a frame that ends a stream.
  template <class Ended>
  void read(std::string_view bytes, Ended const& ended) {
    while (!bytes.empty()) {
      if (head_have_ == head_bytes) {
        auto const n = std::min(left_, bytes.size());
        left_ -= n;
        bytes.remove_prefix(n);
        if (left_ > 0) return;
        head_have_ = 0;
        continue;
      }
      head_[head_have_++] = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      if (head_have_ < head_bytes) continue;
      left_ = std::size_t{head_[0]} << 16 | std::size_t{head_[1]} << 8 | head_[2];
      if (ends_stream()) ended(stream());
      if (left_ == 0) head_have_ = 0;
    }
  }

 private:
  static constexpr std::size_t head_bytes = 9;

  bool ends_stream() const {
    constexpr unsigned char data = 0, headers = 1, rst_stream = 3, end_stream = 0x1;
    auto const type = head_[3];
    return type == rst_stream || ((type == data || type == headers) && (head_[4] & end_stream));
  }
  std::uint32_t stream() const {
    return (std::uint32_t{head_[5]} << 24 | std::uint32_t{head_[6]} << 16 |
            std::uint32_t{head_[7]} << 8 | head_[8]) &
           0x7fffffffU;
  }

  std::array<unsigned char, head_bytes> head_{};
  std::size_t head_have_ = 0;
  std::size_t left_ = 0;
};

}  // namespace muster::net
