// Queue of messages that a stream still has to send. New entries are added to the last message
// while an earlier message is being written. A message contains up to 1000 entries and 256 KiB; a
// larger entry gets its own message. Messages are reused. A stream owns the queue and uses it only
// on its thread.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

namespace muster::proto {

/// The number of messages is not limited; each owner documents its limit.
template <class Message>
class outbox {
 public:
  static constexpr std::size_t entries_per_message_max = 1000;
  static constexpr std::size_t bytes_per_message_max = std::size_t{256} << 10;

  /// Returns the message to which the caller appends one entry of about `bytes` bytes. The
  /// reference is valid until the next call.
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

  /// Returns the last message, to which the caller can add data other than entries.
  Message& tail() {
    if (parts_.empty() || parts_.back()->sealed) grow();
    return parts_.back()->message;
  }
  /// Returns the message that is sent next, for urgent content. The caller bounds its size.
  Message& front() {
    if (parts_.empty()) grow();
    return parts_.front()->message;
  }
  /// Makes later entries start a new message.
  void seal() {
    if (!parts_.empty()) parts_.back()->sealed = true;
  }

  /// Adds all entries until end_group() to one message, regardless of its size.
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

  struct part {
    Message message;
    std::size_t entries = 0;
    std::size_t bytes = 0;
    bool sealed = false;
  };

  /// Removes and returns the oldest message.
  /// @pre The queue is not empty.
  std::unique_ptr<part> take_front() {
    auto taken = std::move(parts_.front());
    parts_.pop_front();
    entries_ -= taken->entries;
    bytes_ -= taken->bytes;
    return taken;
  }

  void recycle(std::unique_ptr<part> sent) {
    if (spare_ || sent->bytes > 2 * bytes_per_message_max) return;
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
