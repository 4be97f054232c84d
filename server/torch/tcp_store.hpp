// The TCPStore of one cluster: connections with their input and output, key spaces of attempts, and
// owners of ranks.
//
// The thread that serves the store owns it and passes bytes in and out. Pure: no sockets, clocks,
// threads or logs. If a client exceeds one of `limits`, its connection must be closed, because the
// protocol has no error answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/torch/key_space.hpp"
#include "server/torch/limits.hpp"
#include "server/torch/store_views.hpp"
#include "server/torch/wire/command_reader.hpp"

namespace muster::torch {

using connection_id = std::uint64_t;

struct incident {
  enum class kind : std::uint8_t { attempt_began, refused, rank_left, rank_left_waiting };
  kind what{};
  std::string about;  ///< client address, or empty
  std::string text;
};

/// Callbacks during calls of tcp_store's functions; they must not call the tcp_store.
struct tcp_store_hooks {
  /// Reports that the connection has output or must be closed. Called at most once before the next
  /// `take_unsent`.
  std::function<void(connection_id)> touched;
  std::function<void(incident)> tell = [](incident const&) {};
};

class tcp_store {
 public:
  /// @param early See command_reader.
  tcp_store(limits const& l, numbering early, tcp_store_hooks hooks);
  ~tcp_store();
  tcp_store(tcp_store const&) = delete;

  bool has_room() const { return connections_.size() < limits_.connections; }
  /// Adds a connection from `peer`, such as "10.0.0.3:4711".
  /// @param rank Rank that the launcher has set.
  /// REQUIRES: has_room().
  connection_id open(std::string peer, core::time_point now,
                     std::optional<std::uint32_t> rank = {});
  /// Processes input. Returns true if input remains. In this case, call `go_on` once the client has
  /// read its output, and do not call `receive` before that. REQUIRES: the connection is open.
  bool receive(connection_id c, std::string_view bytes, core::time_point now);
  /// Returns the same value as `receive`.
  bool go_on(connection_id c, core::time_point now);
  /// REQUIRES: the connection is open.
  std::string take_unsent(connection_id c);
  /// Sets the number of bytes of removed output that have not been sent yet.
  void note_unread(connection_id c, std::size_t bytes);
  /// Returns why the connection must be closed, or an empty string. REQUIRES: the connection is
  /// open.
  std::string const& refusal(connection_id c) const;
  void close(connection_id c, core::time_point now);

  /// Starts an attempt: new connections get an empty key space. Returns the attempt's number.
  std::uint64_t begin_attempt(attempt_cause cause, core::time_point now);

  /// Sets the number of ranks in each attempt; 0 means unknown.
  void expect(std::uint32_t ranks) { expected_ = ranks; }

  std::size_t connections() const { return connections_.size(); }
  std::size_t unread_bytes() const { return unread_; }
  tcp_store_view view(std::size_t limit) const;
  /// Returns up to `limit` keys of this attempt that begin with `prefix` and follow the key
  /// `after`. Returns nothing if the attempt was dropped.
  std::optional<std::vector<key_view>> keys(std::uint64_t attempt, std::string_view prefix,
                                            std::string_view after, std::size_t limit) const;

  /// Returns a violated invariant, or an empty string.
  std::string invalid() const;

 private:
  struct connection;
  struct space;
  using space_ptr = std::shared_ptr<space>;

  bool run(connection& c, core::time_point now);
  void carry_out(connection& c, core::time_point now);
  void set(connection& c, core::time_point now);
  void compare_set(connection& c);
  void add(connection& c);
  void append(connection& c);
  void check(connection& c);
  void wait(connection& c, core::time_point now);
  void multi_get(connection& c);
  void multi_set(connection& c);
  void push(connection& c);
  void pop(connection& c);
  void list(connection& c);
  void arrive(connection& c, core::time_point now);

  bool make_room(connection& c, std::size_t keys, std::size_t bytes);
  bool may_answer(connection& c, std::size_t bytes);
  void move(connection& c, space_ptr const& to);
  void note_rank(connection& c);
  void write_address(connection& c, std::uint32_t rank, core::time_point now);
  static bool is_full(connection const& c);
  void touch(connection& c);
  void refuse(connection& c, std::string why);
  void count_memory(connection& c);
  std::string who(connection const& c) const;
  attempt_view view_of(space const& s) const;
  connection_view view_of(connection const& c) const;

  limits const limits_;
  numbering const early_;
  tcp_store_hooks hooks_;
  usage usage_;
  std::unordered_map<connection_id, std::unique_ptr<connection>> connections_;
  connection_id last_id_ = 0;
  space_ptr current_, before_;
  std::uint64_t last_attempt_ = 0;
  std::uint32_t expected_ = 0;
  std::size_t unfinished_ = 0;
  std::size_t unread_ = 0;
  command command_;
};

}  // namespace muster::torch
