// What a stream has still to send, as messages that are filled while the one before them is being
// written: "write whatever is pending when the write slot is free". A message takes up to 1000
// entries and 256 KiB; one larger entry goes alone. Messages are reused. Owned by a stream; no
// thread rules of its own.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace muster::proto {

/// Grows without a limit of its own: each owner says beside its outbox what bounds it.
template <class Message>
class outbox {
 public:
  static constexpr std::size_t entries_per_message_max = 1000;
  static constexpr std::size_t bytes_per_message_max = std::size_t{256} << 10;

  /// The message to append one entry of about `bytes` to. Valid until the next call.
  Message& add_entry(std::size_t bytes) {
    if (parts_.empty() || parts_.back()->sealed ||
        (!grouped_ &&
         (parts_.back()->entries >= entries_per_message_max ||
          (parts_.back()->entries > 0 && parts_.back()->bytes + bytes > bytes_per_message_max))))
      grow();
    auto& last = *parts_.back();
    ++last.entries;
    last.bytes += bytes;
    ++entries_;
    bytes_ += bytes;
    return last.message;
  }

  /// The last message, for what goes along with entries or alone.
  Message& tail() {
    if (parts_.empty() || parts_.back()->sealed) grow();
    return parts_.back()->message;
  }
  /// The message that is taken next, for what is to go at once and is bounded by who adds it.
  Message& front() {
    if (parts_.empty()) grow();
    return parts_.front()->message;
  }
  /// What comes next goes into another message.
  void seal() {
    if (!parts_.empty()) parts_.back()->sealed = true;
  }

  /// All entries up to end_group go into one message, however large it gets.
  void begin_group() {
    seal();
    grouped_ = true;
  }
  void end_group() {
    seal();
    grouped_ = false;
  }

  void clear() {
    parts_.clear();
    entries_ = bytes_ = 0;
  }

  bool empty() const { return parts_.empty(); }
  std::size_t entries() const { return entries_; }
  std::size_t bytes() const { return bytes_; }

  /// A message on its way out.
  struct part {
    Message message;
    std::size_t entries = 0;
    std::size_t bytes = 0;
    bool sealed = false;
  };

  /// Takes the oldest message; later entries go to others. REQUIRES: not empty.
  std::unique_ptr<part> take_front() {
    auto taken = std::move(parts_.front());
    parts_.pop_front();
    entries_ -= taken->entries;
    bytes_ -= taken->bytes;
    return taken;
  }

  /// Gives the message back once it was encoded, to be used again.
  void recycle(std::unique_ptr<part> sent) {
    if (spare_ || sent->bytes > 2 * bytes_per_message_max) return;  // memory of giants is not kept
    sent->message.Clear();
    sent->entries = sent->bytes = 0;
    sent->sealed = false;
    spare_ = std::move(sent);
  }

 private:
  void grow() { parts_.push_back(spare_ ? std::move(spare_) : std::make_unique<part>()); }

  std::deque<std::unique_ptr<part>> parts_;
  std::unique_ptr<part> spare_;
  bool grouped_ = false;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace muster::proto
