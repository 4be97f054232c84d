// A connection between processes of two hosts, over which one gives the other a value: in
// plaintext, or by TLS 1.3 with one certificate that is trusted, and no other. Owned by whoever
// takes or gives; one thread at a time, which waits and has a no_broken_pipes. Every wait ends:
// after `stall` without progress, or at a time that the caller names.
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

/// The value does not go this way. The text is for the log.
class peer_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Host and port of "host:port", "[::1]:port" or "host", port 0. Errors: std::invalid_argument.
struct peer_address {
  std::string host;
  std::uint16_t port = 0;

  static peer_address parse(std::string const& text);
  std::string text() const;
  /// It stands for all interfaces of a machine, which others cannot dial.
  bool is_any() const { return host == "0.0.0.0" || host == "::"; }
};

using tls_context = std::shared_ptr<SSL_CTX>;
/// Both PEM. Errors: peer_error.
tls_context giving_tls(std::string const& certificate, std::string const& key);
tls_context trusting_tls(std::string const& certificate);

/// While it lives, this thread's writes to who has hung up raise no SIGPIPE.
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

  /// It is connected, or was accepted. Makes it non-blocking.
  peer_socket(file_descriptor socket, clock::duration stall);
  /// Tries each address of the host, so long each. Errors: peer_error.
  static peer_socket connected(peer_address const& to, clock::duration stall);

  /// From here on it speaks TLS. Errors of all below: peer_error.
  void speak_tls(tls_context context, bool as_server, clock::time_point until);
  bool is_tls() const { return tls_ != nullptr; }
  void send(std::string_view bytes, clock::time_point until);
  /// As much as there is, at least a byte.
  std::size_t receive(char* into, std::size_t size, clock::time_point until);
  /// All of it.
  void receive_all(char* into, std::size_t size, clock::time_point until);

  /// In plaintext: so many bytes of a file from its beginning, without copying them, and from the
  /// socket to the file's place; `some` hears how many came or went at last.
  void send_file(int fd, std::uint64_t size);
  template <class Some>
  void receive_file(int fd, std::uint64_t size, Some const& some);
  /// Until the other end has hung up; then nothing is sent that it has not taken.
  void wait_for_end(clock::time_point until);

 private:
  struct pipe_ends {
    file_descriptor out, into;
  };
  static pipe_ends make_pipe();
  /// Bytes that went into the pipe, at least one.
  std::size_t fill(pipe_ends const& p, std::uint64_t most);
  static void empty(pipe_ends const& p, int fd, std::size_t bytes);
  void wait(short for_what, clock::time_point until) const;
  /// After a call of OpenSSL that did not succeed: waits for what it needs.
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
