// State of tcp_store's connections and attempts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/torch/tcp_store.hpp"

namespace muster::torch {

/// Connection that has written a rank's address, or that is known to belong to the rank.
struct rank_owner {
  connection_id connection = 0;
  std::string peer;
  std::optional<std::uint32_t> pid;
  bool wrote = false;
};

struct tcp_store::space {
  space(std::uint64_t n, attempt_cause c, core::time_point at, key_space::woken on_woken,
        usage& all)
      : number(n), cause(c), began(at), keys(std::move(on_woken), all) {}

  std::uint64_t const number;
  attempt_cause const cause;
  core::time_point const began;
  key_space keys;
  std::size_t connections = 0;
  std::map<std::uint32_t, rank_owner> ranks;
};

struct tcp_store::connection : waiter {
  connection(connection_id i, std::string p, core::time_point at, limits const& l, numbering early)
      : id(i), peer(std::move(p)), since(at), reader(l, early) {}

  connection_id const id;
  std::string const peer;
  core::time_point const since;
  command_reader reader;
  space_ptr space;
  std::string out;
  std::size_t unread = 0;
  std::size_t counted_kept = 0;    // memory of `reader` that `unfinished_` includes
  std::size_t counted_unread = 0;  // bytes of `out` and `unread` that `unread_` includes
  std::string refusal;
  std::optional<std::uint32_t> pid;
  std::optional<std::uint32_t> rank;
  bool is_known = false;  // the launcher has set `rank`
  bool is_touched = false;
  bool is_fresh = true;  // no command has concerned an attempt yet
};

template <class Number>
void put(std::string& out, Number n) {
  for (std::size_t i = 0; i < sizeof n; ++i)
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(n) >> (8 * i)));
}
inline void put_text(std::string& out, std::string_view text) {
  put<std::uint64_t>(out, text.size());
  out.append(text);
}

}  // namespace muster::torch
