// A connection that transfers a value between processes on two hosts, in plaintext or with TLS 1.3
// and a single trusted certificate. Used by one thread at a time, which blocks and must have a
// no_broken_pipes object. Every wait is limited by a given time, or by `stall` without progress.
#pragma once

#include <openssl/ssl.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/process/file_descriptor.hpp"
#include "client/blobs/forked.hpp"

namespace muster::detail {

/// The value cannot be transferred over this connection. The message is for the log.
class peer_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Parses "host:port", "[::1]:port" or "host" (port 0). Parsing throws std::invalid_argument.
struct peer_address {
  std::string host;
  std::uint16_t port = 0;

  static peer_address parse(std::string const& text);
  std::string text() const;
  /// Returns true for the wildcard address of all interfaces, to which other hosts cannot connect.
  bool is_any() const { return host == "0.0.0.0" || host == "::"; }
};

using tls_context = std::shared_ptr<SSL_CTX>;
/// These two functions create TLS contexts from PEM strings. They throw peer_error.
tls_context giving_tls(std::string const& certificate, std::string const& key);
tls_context trusting_tls(std::string const& certificate);

/// While this object exists, suppresses SIGPIPE for this thread's writes to closed connections.
class no_broken_pipes {
 public:
  no_broken_pipes();
  ~no_broken_pipes();
  no_broken_pipes(no_broken_pipes const&) = delete;

 private:
  bool const was_pending_;
  sigset_t before_;
};

class peer_socket {
 public:
  using clock = std::chrono::steady_clock;

  peer_socket(file_descriptor socket, clock::duration stall);
  /// Connects to the host, and tries each address for up to `stall`. Throws peer_error.
  static peer_socket connected(peer_address const& to, clock::duration stall);

  /// This and the following members throw peer_error.
  void speak_tls(tls_context context, bool as_server, clock::time_point until);
  bool is_tls() const { return tls_ != nullptr; }
  void send(std::string_view bytes, clock::time_point until);
  /// Receives at least one byte.
  std::size_t receive(char* into, std::size_t size, clock::time_point until);
  void receive_all(char* into, std::size_t size, clock::time_point until);

  /// These two functions transfer a file's bytes in plaintext without copying. The first reads from
  /// the start of the file; the second writes at its position. `some` is called after each step
  /// with the number of bytes.
  void send_file(int fd, std::uint64_t size);
  template <class Some>
  void receive_file(int fd, std::uint64_t size, Some const& some);
  /// Waits until the other end has closed the connection.
  void wait_for_end(clock::time_point until);

 private:
  struct pipe_ends {
    file_descriptor out, into;
  };
  static pipe_ends make_pipe();
  /// Moves bytes from the socket to the pipe. Returns the number of bytes, at least one.
  std::size_t fill(pipe_ends const& p, std::uint64_t most);
  static void empty(pipe_ends const& p, int fd, std::size_t bytes);
  void wait(short for_what, clock::time_point until) const;
  /// Waits for the condition that a failed OpenSSL call requires.
  void wait_for_tls(int answer, clock::time_point until);

  struct freed {
    void operator()(SSL* s) const { SSL_free(s); }
  };
  file_descriptor socket_;
  closed_in_forks mark_;
  clock::duration stall_;
  std::unique_ptr<SSL, freed> tls_;
};

template <class Some>
void peer_socket::receive_file(int fd, std::uint64_t size, Some const& some) {
  auto const through = make_pipe();
  while (size > 0) {
    auto const got = fill(through, size);
    some(got);
    empty(through, fd, got);
    size -= got;
  }
}

}  // namespace muster::detail
