// An immutable, shared byte string with its encoding, used for arguments and results.
//
// A blob is one pointer to one allocation of size + 8 bytes. The reference count is atomic, so
// blobs can be passed between threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "base/enum_names.hpp"

namespace muster::core {

using muster::name;

enum class encoding : std::uint8_t {
  json = 0,
  bytes = 1,
};
constexpr auto enum_names(encoding) {
  using enum encoding;
  return enumerators<encoding>(json, "json", bytes, "bytes");
}

class blob {
 public:
  static constexpr std::size_t size_max = (std::size_t{1} << 31) - 1;

  blob() = default;
  /// REQUIRES: text.size() <= size_max.
  explicit blob(std::string_view text, core::encoding e = encoding::json) {
    void* p = ::operator new(sizeof(header) + text.size());
    head_ = new (p)
        header{{1}, static_cast<std::uint32_t>(text.size()) << 1 | static_cast<std::uint32_t>(e)};
    if (!text.empty()) std::memcpy(data(), text.data(), text.size());
  }
  blob(blob const& o) : head_(o.head_) {
    if (head_) head_->references.fetch_add(1, std::memory_order_relaxed);
  }
  blob(blob&& o) noexcept : head_(std::exchange(o.head_, nullptr)) {}
  blob& operator=(blob&& o) noexcept {
    auto* const taken = std::exchange(o.head_, nullptr);
    release();
    head_ = taken;
    return *this;
  }
  blob& operator=(blob const& o) noexcept { return *this = blob(o); }
  ~blob() { release(); }

  std::string_view view() const {
    return head_ ? std::string_view(data(), head_->word >> 1) : std::string_view();
  }
  std::size_t size() const { return head_ ? head_->word >> 1 : 0; }
  core::encoding encoding() const {
    return head_ ? static_cast<core::encoding>(head_->word & 1) : encoding::json;
  }
  /// Returns false for a default-constructed blob, and true for an empty string.
  explicit operator bool() const { return head_ != nullptr; }

  bool operator==(blob const& o) const {
    return view() == o.view() && encoding() == o.encoding() && !head_ == !o.head_;
  }

 private:
  struct header {
    std::atomic<std::uint32_t> references;
    std::uint32_t word;  // size << 1 | encoding
  };
  // If the count is 1, no other owner can copy the blob, so the decrement can be skipped.
  void release() {
    if (head_ && (head_->references.load(std::memory_order_acquire) == 1 ||
                  head_->references.fetch_sub(1, std::memory_order_acq_rel) == 1))
      ::operator delete(head_);
  }
  char* data() const { return reinterpret_cast<char*>(head_ + 1); }

  header* head_ = nullptr;
};

}  // namespace muster::core
