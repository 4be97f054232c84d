#include "server/net/inspect/frame_inspector.hpp"

#include <algorithm>
#include <utility>

namespace muster::net {
namespace {

constexpr unsigned char data = 0, headers = 1, rst_stream = 3, continuation = 9;
constexpr unsigned char end_stream = 0x1, end_headers = 0x4, padded = 0x8, priority = 0x20;

}  // namespace

frame_inspector::finding frame_inspector::read(std::string_view bytes, identify const& is_known) {
  while (!bytes.empty()) {
    if (preface_left_ > 0) {
      auto const n = std::min(preface_left_, bytes.size());
      preface_left_ -= n;
      bytes.remove_prefix(n);
      continue;
    }
    if (head_have_ < head_bytes) {
      auto const n = std::min(head_bytes - head_have_, bytes.size());
      for (std::size_t i = 0; i < n; ++i)
        head_[head_have_++] = static_cast<unsigned char>(bytes[i]);
      bytes.remove_prefix(n);
      if (head_have_ < head_bytes) return finding::none;
      if (auto const f = begin_frame(); f != finding::none) return f;
    }
    auto const n = std::min(left_, bytes.size());
    take_payload(bytes.substr(0, n));
    left_ -= n;
    bytes.remove_prefix(n);
    if (left_ > 0) return finding::none;
    if (auto const f = end_frame(is_known); f != finding::none) return f;
  }
  return finding::none;
}

frame_inspector::finding frame_inspector::begin_frame() {
  left_ = std::size_t{head_[0]} << 16 | std::size_t{head_[1]} << 8 | head_[2];
  type_ = head_[3];
  flags_ = head_[4];
  stream_ = (std::uint32_t{head_[5]} << 24 | std::uint32_t{head_[6]} << 16 |
             std::uint32_t{head_[7]} << 8 | head_[8]) &
            0x7fffffffU;
  if (type_ == headers) block_.clear();
  if (is_header_frame()) {
    block_bytes_ += head_bytes + left_;
    if (block_bytes_ > limits_.header_block_bytes_max) return finding::header_block_too_long;
  }
  if (type_ == data) {
    auto const it = unfinished_.empty() ? unfinished_.end() : unfinished_.find(stream_);
    current_ = it == unfinished_.end() ? message{} : it->second;
  }
  if (type_ == rst_stream) forget_message(stream_);
  if (!is_limited_ || identified_) return finding::none;
  if (is_header_frame() || type_ == data) charge_call();
  return held() > limits_.anonymous_bytes_max ? finding::too_much_before_token : finding::none;
}

void frame_inspector::take_payload(std::string_view payload) {
  if (type_ == data) return take_message(payload);
  if (is_header_frame() && !identified_) block_ += payload;
}

// A message begins with a compression byte and a four-byte length.
void frame_inspector::take_message(std::string_view payload) {
  while (!payload.empty()) {
    auto& m = current_;
    std::size_t n = 0;
    if (m.prefix_have < prefix_bytes) {
      n = std::min(prefix_bytes - m.prefix_have, payload.size());
      for (std::size_t i = 0; i < n; ++i)
        m.prefix[m.prefix_have++] = static_cast<unsigned char>(payload[i]);
      if (m.prefix_have == prefix_bytes)
        m.left = std::size_t{m.prefix[1]} << 24 | std::size_t{m.prefix[2]} << 16 |
                 std::size_t{m.prefix[3]} << 8 | m.prefix[4];
    } else {
      n = std::min(m.left, payload.size());
      m.left -= n;
    }
    m.held += n;
    message_bytes_ += n;
    payload.remove_prefix(n);
    if (m.prefix_have < prefix_bytes || m.left > 0) continue;
    message_bytes_ -= m.held;
    note_whole(m.held);
    m = {};
  }
}

frame_inspector::finding frame_inspector::end_frame(identify const& is_known) {
  head_have_ = 0;
  if (type_ == data) {
    bool const is_whole = current_.prefix_have == 0;
    if (is_whole || (flags_ & end_stream) || has_ended(stream_)) {
      message_bytes_ -= current_.held;
      if (!unfinished_.empty()) unfinished_.erase(stream_);
    } else {
      current_.held += frame_overhead;
      message_bytes_ += frame_overhead;
      unfinished_[stream_] = current_;
    }
    if (!requests_.empty()) settle_request();
  }
  if (!is_header_frame()) return finding::none;
  // In a HEADERS frame, the padding length and the priority precede the header block.
  if (type_ == headers && !identified_) {
    std::size_t const before = (flags_ & padded ? 1 : 0) + (flags_ & priority ? 5 : 0);
    std::size_t const behind =
        flags_ & padded && !block_.empty() ? static_cast<unsigned char>(block_.front()) : 0;
    block_.resize(block_.size() - std::min(behind, block_.size()));
    block_.erase(0, before);
  }
  if (!(flags_ & end_headers)) return finding::none;
  block_bytes_ = 0;
  if (!identified_) look_for_token(is_known);
  return finding::none;
}

void frame_inspector::look_for_token(identify const& is_known) {
  bool known = false, seen = false;
  headers_->decode(block_, [&](std::string_view value) {
    // Checks are expensive, so only one value per call is checked.
    if (!std::exchange(seen, true)) known = is_known(value);
  });
  block_.clear();
  if (known) set_identified();
}

void frame_inspector::set_identified() {
  identified_ = true;
  calls_ = {};
  unanswered_bytes_ = 0;
  headers_.reset();
  block_ = {};
}

// Removes the smallest charge, so that the remaining charges are at least the bytes of the
// remaining calls.
void frame_inspector::call_ended() {
  auto const least = std::min_element(
      calls_.begin(), calls_.end(), [](auto const& a, auto const& b) { return a.bytes < b.bytes; });
  if (least == calls_.end()) return;
  unanswered_bytes_ -= least->bytes;
  calls_.erase(least);
}

void frame_inspector::charge_call() {
  auto it = std::find_if(calls_.begin(), calls_.end(),
                         [this](auto const& c) { return c.stream == stream_; });
  bool const is_new = it == calls_.end();
  if (is_new) it = calls_.insert(it, {stream_, 0});
  auto const bytes = head_bytes + left_ + (is_new ? call_overhead : 0);
  it->bytes += bytes;
  unanswered_bytes_ += bytes;
}

void frame_inspector::stream_ended(std::uint32_t stream) {
  ended_[ended_next_++ % ended_.size()] = stream;
  forget_message(stream);
}

bool frame_inspector::has_ended(std::uint32_t stream) const {
  return std::find(ended_.begin(), ended_.end(), stream) != ended_.end();
}

void frame_inspector::note_whole(std::size_t bytes) {
  auto const it = requests_.empty() ? requests_.end() : requests_.find(stream_);
  // The stream has continued, so gRPC has already read the earlier message.
  if (it != requests_.end() && !it->second.charged) requests_.erase(it);
  if (bytes >= large_request_bytes) requests_.insert({stream_, {bytes, false}});
}

// The engine reads the messages of a stream that continues, so gRPC buffers only one of its
// messages at a time.
void frame_inspector::settle_request() {
  auto const it = requests_.find(stream_);
  if (it == requests_.end() || it->second.charged) return;
  if (has_ended(stream_)) {
    requests_.erase(it);
  } else if (flags_ & end_stream) {
    it->second.charged = true;
    request_bytes_ += it->second.bytes;
  }
}

void frame_inspector::forget_message(std::uint32_t stream) {
  if (auto const whole = requests_.find(stream); whole != requests_.end()) {
    if (whole->second.charged) request_bytes_ -= whole->second.bytes;
    requests_.erase(whole);
  }
  auto const it = unfinished_.find(stream);
  if (it == unfinished_.end()) return;
  message_bytes_ -= it->second.held;
  unfinished_.erase(it);
}

}  // namespace muster::net
