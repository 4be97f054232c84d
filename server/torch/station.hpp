// One cluster's store of torch.distributed: connections with what they have sent and are to be
// sent, the key spaces of attempts, and who is which rank.
//
// Owned by the thread that serves it, which hands bytes in and takes bytes out; everything here is
// called there. Pure: no socket, clock, thread or log. Limits: those of `limits`; whoever passes
// one is refused, which the protocol knows no answer for: its connection is closed.
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

/// Something that people are told.
struct incident {
  enum class kind : std::uint8_t { attempt_began, refused, rank_left, rank_left_waiting };
  kind what{};
  std::string about;  ///< the client's address, or empty
  std::string text;
};

/// What becomes of connections. Called within the station's functions; must not call back.
struct station_hooks {
  /// There is something to send, or it is to be closed. At most once until `take_unsent` is asked.
  std::function<void(connection_id)> touched;
  std::function<void(incident)> tell = [](incident const&) {};
};

class station {
 public:
  /// `early`: see command_reader.
  station(limits const& l, numbering early, station_hooks hooks);
  ~station();
  station(station const&) = delete;

  bool has_room() const { return connections_.size() < limits_.connections; }
  /// `peer`: "10.0.0.3:4711". `rank`: whose it is, as its launcher says. REQUIRES: there is room.
  connection_id open(std::string peer, core::time_point now,
                     std::optional<std::uint32_t> rank = {});
  /// Bytes that its client has sent. True: `go_on` is to be called when its client has read what it
  /// is sent, and nothing received before. REQUIRES: it is open.
  bool receive(connection_id c, std::string_view bytes, core::time_point now);
  /// The same for what waited meanwhile.
  bool go_on(connection_id c, core::time_point now);
  /// What is to be sent to it now. REQUIRES: it is open.
  std::string take_unsent(connection_id c);
  /// What of that has not gone stays in memory; the caller says how much, each time anew.
  void note_unread(connection_id c, std::size_t bytes);
  /// Not empty: it is to be closed, and why. REQUIRES: it is open.
  std::string const& refusal(connection_id c) const;
  /// The client went, or was made to.
  void close(connection_id c, core::time_point now);

  /// Who connects from now on finds an empty key space. Gives the attempt's number.
  std::uint64_t begin_attempt(attempt_cause cause, core::time_point now);

  /// So many ranks are to come in each attempt; 0: nobody knows.
  void expect(std::uint32_t ranks) { expected_ = ranks; }

  std::size_t connections() const { return connections_.size(); }
  /// Of answers that clients have not read.
  std::size_t unread_bytes() const { return unread_; }
  station_view view(std::size_t limit) const;
  /// Of the space of this attempt, those after `after` that begin with `prefix`; nothing: there is
  /// no such attempt any more.
  std::optional<std::vector<key_view>> keys(std::uint64_t attempt, std::string_view prefix,
                                            std::string_view after, std::size_t limit) const;

  /// Empty when all is in order. For tests.
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
  station_hooks hooks_;
  usage usage_;  // of all key spaces that live
  std::unordered_map<connection_id, std::unique_ptr<connection>> connections_;
  connection_id last_id_ = 0;
  space_ptr current_, before_;
  std::uint64_t last_attempt_ = 0;
  std::uint32_t expected_ = 0;  // ranks
  std::size_t unfinished_ = 0;  // bytes of commands that have come in part
  std::size_t unread_ = 0;      // bytes of answers
  command command_;             // that is carried out
};

}  // namespace muster::torch
