// Gives values that a worker holds to processes of other hosts, one for one ticket of the server;
// see peer_taking.hpp for what is said. Where the server speaks TLS, with the certificate that it
// has made for this process.
//
// Owned by shared_values. Any thread. Threads of its own: one that accepts, and one for each
// process that is given something.
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
  /// That were not brought yet. More: the oldest go.
  std::size_t tickets_max = 10'000;
  std::chrono::milliseconds ticket_age{60'000};
  /// For the server's word of a ticket that somebody has brought.
  std::chrono::milliseconds ticket_comes_within{1'000};
  /// Processes that are given something. Others are hung up on.
  std::size_t served_at_once = 32;
  /// For TLS and the ticket in all.
  std::chrono::milliseconds hello_within{5'000};
  /// Without a byte.
  std::chrono::milliseconds stall{2'000};
};

/// Where to listen. `listen`: "host", "host:port", or empty for the interface by which `server` is
/// reached and a free port. Errors: std::invalid_argument, std::system_error, peer_error.
peer_address listen_address(std::string const& listen, std::string const& server);

class peer_giver {
 public:
  /// Nothing: it is not held.
  using opener = std::function<file_descriptor(std::string const& name)>;

  /// Listens from here on. `advertise`: what others are told, "host" or "host:port"; empty: where
  /// it listens. Errors: std::system_error, it cannot be listened there; std::invalid_argument,
  /// peer_error.
  peer_giver(opener held, peer_address const& at, std::string const& advertise,
             peer_giving_limits limits = {});
  /// Ends all connections, and waits for their threads.
  ~peer_giver();
  peer_giver(peer_giver const&) = delete;

  /// What others are told.
  std::string const& address() const { return address_; }
  /// PEM; empty: plaintext is spoken. Errors: peer_error.
  void use_certificate(std::string const& certificate, std::string const& key);
  /// Somebody will bring it.
  void expect(std::string const& ticket, std::string const& name);

 private:
  using clock = std::chrono::steady_clock;
  struct ticket {
    std::string bytes, name;
    clock::time_point until;
  };
  struct served {
    std::thread thread;
    int socket = -1;    // -1: it is closed, or about to be
    bool over = false;  // it takes no lock any more
  };

  void accept();
  void begin(file_descriptor socket);
  void serve(served& s, file_descriptor socket);
  void give(peer_socket& to, tls_context const& tls);
  bool is_expected(std::string const& ticket, std::string const& name);
  // REQUIRE the mutex.
  void forget_old(clock::time_point now);
  void join_those_over();

  opener const held_;
  peer_giving_limits const limits_;
  file_descriptor listening_;
  closed_in_forks mark_;
  std::string address_;

  std::mutex mutex_;  // protects all below but thread_
  std::condition_variable changed_;
  std::list<ticket> tickets_;  // oldest first
  std::map<std::string, std::list<ticket>::iterator> by_bytes_;
  tls_context tls_;
  std::list<served> serving_;
  bool closed_ = false;

  std::thread thread_;
};

}  // namespace muster::detail
