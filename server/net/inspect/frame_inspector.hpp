// Parses a client's HTTP/2 frames and computes an upper bound of the memory that gRPC needs for
// unfinished work: header blocks, messages and large unanswered requests. Until the client is
// identified, every unanswered call counts. gRPC 1.51 limits neither header blocks nor data that
// precedes the token check. Pure; each connection has its own object, used by one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/net/inspect/header_decoder.hpp"

namespace muster::net {

struct inspection_limits {
  /// Maximum bytes of a header block, which is a HEADERS frame with its CONTINUATION frames.
  std::size_t header_block_bytes_max = 64 << 10;
  /// Maximum bytes of unanswered calls while the client is not identified.
  std::size_t anonymous_bytes_max = 64 << 10;
};

class frame_inspector {
 public:
  enum class finding {
    none,
    header_block_too_long,
    too_much_before_token,
  };
  using identify = std::function<bool(std::string_view authorization)>;

  /// Bytes added for each call and each unfinished DATA frame, because gRPC stores a record for
  /// each.
  static constexpr std::size_t call_overhead = 512, frame_overhead = 64;
  /// Minimum size of a large request: a message that ends the client's half of a call. A large
  /// request is charged until the server ends the call. Flow control bounds smaller messages.
  static constexpr std::size_t large_request_bytes = 64 << 10;

  /// @param is_limited Whether `anonymous_bytes_max` applies until the client is identified.
  frame_inspector(inspection_limits limits, bool is_limited)
      : limits_(limits), is_limited_(is_limited) {}

  /// Reads the connection's next bytes, which can end anywhere. If the result is not `none`, the
  /// connection must be closed.
  /// @param is_known Called for `authorization` values until it returns true; null if the client is
  ///   already identified.
  finding read(std::string_view bytes, identify const& is_known);

  /// Reports that a call has ended. It is unknown which call, so the smallest charge is removed.
  void call_ended();

  /// Reports that the server has ended this stream. gRPC drops further data of the stream.
  void stream_ended(std::uint32_t stream);

  void set_identified();

  [[nodiscard]] bool is_identified() const noexcept { return identified_; }
  [[nodiscard]] std::size_t held() const noexcept {
    return std::max(block_bytes_ + message_bytes_ + request_bytes_, unanswered_bytes_);
  }

 private:
  static constexpr std::size_t head_bytes = 9, prefix_bytes = 5;
  struct message {
    std::array<unsigned char, prefix_bytes> prefix{};
    std::size_t prefix_have = 0;
    std::size_t left = 0;
    std::size_t held = 0;
  };

  finding begin_frame();
  finding end_frame(identify const& is_known);
  void take_payload(std::string_view payload);
  void take_message(std::string_view payload);
  bool is_header_frame() const { return type_ == 1 || type_ == 9; }
  void charge_call();
  void look_for_token(identify const& is_known);
  void forget_message(std::uint32_t stream);
  void note_whole(std::size_t bytes);
  void settle_request();
  bool has_ended(std::uint32_t stream) const;

  inspection_limits const limits_;
  bool const is_limited_;
  bool identified_ = false;

  std::size_t preface_left_ = 24;
  std::array<unsigned char, head_bytes> head_{};
  std::size_t head_have_ = 0;
  std::size_t left_ = 0;
  unsigned char type_ = 0, flags_ = 0;
  std::uint32_t stream_ = 0;

  std::size_t block_bytes_ = 0;
  std::string block_;  // bytes of the current block, until the client is identified
  std::unique_ptr<header_decoder> headers_ = std::make_unique<header_decoder>();

  message current_;
  std::unordered_map<std::uint32_t, message> unfinished_;  // indexed by stream; bounded by held()
  std::size_t message_bytes_ = 0;

  struct request {
    std::size_t bytes = 0;
    bool charged = false;  // whether the client has ended the stream
  };
  // Last message of each stream, if the message is large.
  std::unordered_map<std::uint32_t, request> requests_;
  std::size_t request_bytes_ = 0;  // bytes of charged requests
  // Streams that the server ended last. The client can still send frames of these streams.
  std::array<std::uint32_t, 32> ended_{};
  std::size_t ended_next_ = 0;

  struct charged_call {
    std::uint32_t stream;
    std::size_t bytes;
  };
  // Unanswered calls of a client that is not identified. Bounded, because each call adds
  // call_overhead.
  std::vector<charged_call> calls_;
  std::size_t unanswered_bytes_ = 0;
};

}  // namespace muster::net
