// Many HTTP/2 connections that carry unary gRPC calls, on one thread. A connection costs this
// client less memory and CPU time than gRPC's own client, so that a measurement shows the server.
//
// Supports plaintext, requests of up to 16 KiB, and responses of up to 1 GiB per connection. The
// calling thread does all work in open_all(), run() and run_for(). Handlers can start calls.
#pragma once

#include <google/protobuf/message_lite.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

class http2_connections {
 public:
  using clock = std::chrono::steady_clock;
  /// Gets whether the call succeeded, and the serialized response.
  using handler = std::function<void(bool ok, std::string_view response)>;

  /// @param server an IPv4 address, or localhost, and a port
  http2_connections(std::string const& server, int count);
  ~http2_connections();
  http2_connections(http2_connections const&) = delete;

  int count() const { return static_cast<int>(all_.size()); }
  int open() const { return open_; }

  /// Opens the connections that are closed. A refused connection is tried again.
  /// @throws std::runtime_error after `limit`
  void open_all(std::chrono::seconds limit);
  /// Starts a call on connection `i`.
  /// @pre the connection is open
  void call(int i, std::string_view method, google::protobuf::MessageLite const& request,
            handler done);
  /// Handles answers until `enough` is true. @throws std::runtime_error after `limit`
  void run(std::function<bool()> const& enough, std::chrono::seconds limit);
  void run_for(clock::duration span);
  /// Closes a connection. Its calls end without an answer.
  void close(int i);

 private:
  struct stream {
    std::uint32_t id = 0;
    handler done;
    std::string message;
  };
  struct connection {
    int fd = -1;
    bool connected = false, open = false, wants_out = false;
    std::uint32_t next_stream = 1;
    std::string in, out;
    std::vector<stream> streams;
  };
  void connect(int i);
  void poll(int milliseconds);
  void read(int i);
  void flush(int i);
  /// Returns the number of bytes that were complete frames.
  std::size_t take_frames(int i, std::string_view in);
  void take_frame(int i, std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                  std::string_view body);
  void end_stream(int i, std::uint32_t id, bool ok);

  std::uint32_t address_ = 0;  // in network byte order
  std::uint16_t port_ = 0;
  int epoll_ = -1;
  int open_ = 0, connecting_ = 0;
  std::vector<connection> all_;
};

}  // namespace muster::bench
