// Serves a worker's values to processes on other hosts. Each ticket issued by the server is valid
// for one value. See peer_taking.hpp for the protocol. Uses TLS if the server uses TLS, with a
// certificate that the server has created for this process.
//
// Thread-safe. One thread accepts connections, and each connection has its own thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "client/blobs/peer_socket.hpp"

namespace muster::detail {

struct peer_giving_limits {
  /// Maximum number of unused tickets; at the limit, the oldest tickets are dropped.
  std::size_t tickets_max = 10'000;
  std::chrono::milliseconds ticket_age{60'000};
  /// Maximum time to wait for the server to announce a ticket that a process has already sent.
  std::chrono::milliseconds ticket_comes_within{1'000};
  /// Maximum number of processes served at once; further processes are disconnected.
  std::size_t served_at_once = 32;
  /// Time limit for the TLS handshake and the ticket together.
  std::chrono::milliseconds hello_within{5'000};
  /// Maximum time without progress in a transfer.
  std::chrono::milliseconds stall{2'000};
};

/// `listen` is "host" or "host:port"; if empty, the network interface with the route to `server`
/// and a free port are used. Throws std::invalid_argument, std::system_error and peer_error.
peer_address listen_address(std::string const& listen, std::string const& server);

class peer_value_server {
 public:
  /// Returns an empty descriptor if this process does not hold the value.
  using opener = std::function<file_descriptor(std::string const& name)>;

  /// `advertise` is the address for other hosts, "host" or "host:port"; if empty, the listening
  /// address is used. Throws std::invalid_argument and peer_error, and std::system_error if
  /// listening fails.
  peer_value_server(opener held, peer_address const& at, std::string const& advertise,
                    peer_giving_limits limits = {});
  ~peer_value_server();
  peer_value_server(peer_value_server const&) = delete;

  std::string const& address() const { return address_; }
  /// Sets the certificate and key in PEM format; if empty, plaintext is used. Throws peer_error.
  void use_certificate(std::string const& certificate, std::string const& key);
  void expect(std::string const& ticket, std::string const& name);

 private:
  using clock = std::chrono::steady_clock;
  struct ticket {
    std::string bytes, name;
    clock::time_point until;
  };
  struct served {
    std::thread thread;
    int socket = -1;    // -1 if the socket is closed or about to be closed
    bool over = false;  // whether the thread acquires no more locks
  };

  void accept();
  void begin(file_descriptor socket);
  void serve(served& s, file_descriptor socket);
  void give(peer_socket& to, tls_context const& tls);
  bool is_expected(std::string const& ticket, std::string const& name);
  // The following members require the mutex.
  void forget_old(clock::time_point now);
  void join_those_over();

  opener const held_;
  peer_giving_limits const limits_;
  file_descriptor listening_;
  closed_in_forks mark_;
  std::string address_;

  std::mutex mutex_;  // protects the following members except thread_
  std::condition_variable changed_;
  std::list<ticket> tickets_;  // oldest first
  std::map<std::string, std::list<ticket>::iterator> by_bytes_;
  tls_context tls_;
  std::list<served> serving_;
  bool closed_ = false;

  std::thread thread_;
};

}  // namespace muster::detail
