// The TCPStore of one cluster: connections with their input and output, the key spaces of attempts,
// and the owners of ranks.
//
// Owned and used by the thread that serves it, which passes bytes in and out. Pure: no sockets,
// clocks, threads or logs. A client that exceeds one of `limits` is refused: its connection must be
// closed, since the protocol has no error answers.
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

/// An event for the log.
struct incident {
  enum class kind : std::uint8_t { attempt_began, refused, rank_left, rank_left_waiting };
  kind what{};
  std::string about;  ///< the client's address; may be empty
  std::string text;
};

/// Notifications about connections. Called within the station's functions; must not call back.
struct tcp_store_hooks {
  /// A connection has output or must be closed. Called at most once before `take_unsent`.
  std::function<void(connection_id)> touched;
  std::function<void(incident)> tell = [](incident const&) {};
};

class tcp_store {
 public:
  /// `early`: see command_reader.
  tcp_store(limits const& l, numbering early, tcp_store_hooks hooks);
  ~tcp_store();
  tcp_store(tcp_store const&) = delete;

  bool has_room() const { return connections_.size() < limits_.connections; }
  /// Adds a connection from `peer`, "10.0.0.3:4711". `rank`: set by its launcher. REQUIRES:
  /// has_room().
  connection_id open(std::string peer, core::time_point now,
                     std::optional<std::uint32_t> rank = {});
  /// Processes input. Returns true if input remains: call `go_on` once the client has read its
  /// output, and `receive` nothing before. REQUIRES: the connection is open.
  bool receive(connection_id c, std::string_view bytes, core::time_point now);
  /// Processes remaining input; returns like `receive`.
  bool go_on(connection_id c, core::time_point now);
  /// Takes the output of a connection. REQUIRES: it is open.
  std::string take_unsent(connection_id c);
  /// Sets how many bytes of the taken output are not sent yet.
  void note_unread(connection_id c, std::size_t bytes);
  /// Returns why the connection must be closed; empty if it need not be. REQUIRES: it is open.
  std::string const& refusal(connection_id c) const;
  /// Removes a connection that was closed by either side.
  void close(connection_id c, core::time_point now);

  /// Gives new connections an empty key space. Returns the number of the attempt.
  std::uint64_t begin_attempt(attempt_cause cause, core::time_point now);

  /// Sets the number of ranks in each attempt; 0: unknown.
  void expect(std::uint32_t ranks) { expected_ = ranks; }

  std::size_t connections() const { return connections_.size(); }
  /// Returns the bytes of answers that clients have not read.
  std::size_t unread_bytes() const { return unread_; }
  tcp_store_view view(std::size_t limit) const;
  /// Returns up to `limit` keys of this attempt that begin with `prefix`, after the key `after`;
  /// nothing if the attempt was dropped.
  std::optional<std::vector<key_view>> keys(std::uint64_t attempt, std::string_view prefix,
                                            std::string_view after, std::size_t limit) const;

  /// Returns a violated invariant; empty if there is none. For tests.
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
  usage usage_;  // of all existing key spaces
  std::unordered_map<connection_id, std::unique_ptr<connection>> connections_;
  connection_id last_id_ = 0;
  space_ptr current_, before_;
  std::uint64_t last_attempt_ = 0;
  std::uint32_t expected_ = 0;
  std::size_t unfinished_ = 0;  // bytes of incomplete commands
  std::size_t unread_ = 0;
  command command_;
};

}  // namespace muster::torch
