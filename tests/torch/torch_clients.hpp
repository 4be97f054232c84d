// Clients of a station for tests. Collects their answers by connection.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/torch/tcp_store.hpp"

namespace muster::torch {

/// A station with a clock that only the test advances.
class clients {
 public:
  explicit clients(numbering early = numbering::a, limits const& l = {})
      : tcp_store(l, early,
                  {[this](connection_id c) { touched.push_back(c); },
                   [this](incident const& i) { told.push_back(i); }}) {}

  connection_id open(std::string const& peer = "10.0.0.1:1000",
                     std::optional<std::uint32_t> rank = {}) {
    return tcp_store.open(peer, now, rank);
  }
  void send(connection_id c, std::string_view bytes) {
    bool more = tcp_store.receive(c, bytes, now);
    take();
    for (; more; take()) more = tcp_store.go_on(c, now);  // the client has read its data
  }
  void close(connection_id c) { tcp_store.close(c, now); }
  void take() {
    for (auto const c : std::exchange(touched, {})) got[c] += tcp_store.take_unsent(c);
  }
  /// Returns the data sent since the last call.
  std::string read(connection_id c) { return std::exchange(got[c], {}); }
  bool is_refused(connection_id c) const { return !tcp_store.refusal(c).empty(); }

  core::time_point now{std::chrono::seconds(1'000'000)};
  std::vector<connection_id> touched;
  std::map<connection_id, std::string> got;
  std::vector<incident> told;
  torch::tcp_store tcp_store;
};

inline std::string u64(std::uint64_t n) {
  std::string s;
  for (int i = 0; i < 8; ++i) s.push_back(static_cast<char>(n >> (8 * i)));
  return s;
}
inline std::string text(std::string_view t) {
  return u64(t.size()).append(t);
}
inline std::string byte(int b) {
  return std::string(1, static_cast<char>(b));
}

namespace say {
inline std::string validate() {
  return std::string("\0\xce\xf7\x85\x3c", 5);
}
inline std::string ping(std::uint32_t pid) {
  return byte(13) + u64(pid).substr(0, 4);
}
inline std::string set(std::string_view k, std::string_view v) {
  return byte(1) + text(k) + text(v);
}
inline std::string get(std::string_view k) {
  return byte(3) + text(k);
}
inline std::string add(std::string_view k, std::int64_t n) {
  return byte(4) + text(k) + u64(static_cast<std::uint64_t>(n));
}
inline std::string keys(int command, std::vector<std::string> const& all) {
  auto s = byte(command) + u64(all.size());
  for (auto const& k : all) s += text(k);
  return s;
}
inline std::string wait(std::vector<std::string> const& all) {
  return keys(6, all);
}
inline std::string cancel_wait() {
  return byte(12);
}
}  // namespace say

}  // namespace muster::torch
