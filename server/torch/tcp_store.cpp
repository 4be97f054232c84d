#include "server/torch/tcp_store.hpp"

#include <algorithm>

#include "server/torch/rank_keys.hpp"
#include "server/torch/tcp_store_state.hpp"

namespace muster::torch {
namespace {

// When a connection's unsent output reaches this size, the connection's next commands wait until
// the client has read answers.
constexpr std::size_t full_bytes = 1 << 20;

std::string_view host_of(std::string_view peer) {
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace

std::string_view name(attempt_cause c) {
  constexpr std::string_view names[] = {"first", "asked", "all_left", "rank_anew", "launched"};
  return names[static_cast<unsigned>(c)];
}

tcp_store::tcp_store(limits const& l, numbering early, tcp_store_hooks hooks)
    : limits_(l), early_(early), hooks_(std::move(hooks)) {}

tcp_store::~tcp_store() {
  for (auto& [id, c] : connections_) c->space->keys.withdraw(*c);
}

connection_id tcp_store::open(std::string peer, core::time_point now,
                              std::optional<std::uint32_t> rank) {
  bool const all_left = current_ && current_->connections == 0 && current_->keys.entries() > 0;
  if (!current_ || all_left)
    begin_attempt(current_ ? attempt_cause::all_left : attempt_cause::first, now);
  auto c = std::make_unique<connection>(++last_id_, std::move(peer), now, limits_, early_);
  c->space = current_;
  c->rank = rank;
  c->is_known = rank.has_value();
  ++current_->connections;
  note_rank(*c);
  connections_.emplace(last_id_, std::move(c));
  return last_id_;
}

void tcp_store::close(connection_id id, core::time_point now) {
  auto const node = connections_.extract(id);
  if (!node) return;
  auto& c = *node.mapped();
  auto& s = *c.space;
  bool const waited = c.waits();
  std::string first;
  c.each_key([&](std::string_view key) {
    if (first.empty()) first = key;
  });
  auto const waited_for = std::chrono::duration_cast<std::chrono::seconds>(now - c.waiter::since());
  s.keys.withdraw(c);
  --s.connections;
  unfinished_ -= c.counted_kept;
  unread_ -= c.counted_unread;
  auto const owner = c.rank ? s.ranks.find(*c.rank) : s.ranks.end();
  if (owner == s.ranks.end() || owner->second.connection != id) return;
  if (!waited)
    return hooks_.tell({incident::kind::rank_left, c.peer, who(c) + " has closed its connection"});
  hooks_.tell({incident::kind::rank_left_waiting, c.peer,
               who(c) + " has closed its connection while it waited for " + first + " (for " +
                   std::to_string(waited_for.count()) + " s)"});
}

std::string tcp_store::who(connection const& c) const {
  auto text = c.rank ? "rank " + std::to_string(*c.rank) : std::string("a client");
  text += " (" + c.peer;
  if (c.pid) text += ", pid " + std::to_string(*c.pid);
  return text + ")";
}

bool tcp_store::receive(connection_id id, std::string_view bytes, core::time_point now) {
  auto& c = *connections_.at(id);
  c.reader.feed(bytes);
  return run(c, now);
}

bool tcp_store::go_on(connection_id id, core::time_point now) {
  auto& c = *connections_.at(id);
  c.reader.feed({});
  return run(c, now);
}

bool tcp_store::run(connection& c, core::time_point now) {
  bool whole = true;
  while (whole && c.refusal.empty() && !is_full(c)) {
    auto const next = c.reader.next(command_);
    whole = next && *next;
    if (!next) refuse(c, next.error().message);
    if (whole) carry_out(c, now);
  }
  c.reader.keep();
  count_memory(c);
  return whole && c.refusal.empty();
}

bool tcp_store::is_full(connection const& c) {
  return c.out.size() + c.unread >= full_bytes;
}

void tcp_store::count_memory(connection& c) {
  auto const kept = c.reader.kept_bytes();
  auto const unread = c.out.size() + c.unread;
  unfinished_ += kept - c.counted_kept;
  unread_ += unread - c.counted_unread;
  c.counted_kept = kept;
  c.counted_unread = unread;
  if (!c.refusal.empty()) return;
  if (unfinished_ > limits_.unfinished_bytes)
    refuse(c, "incomplete commands use more than " + std::to_string(limits_.unfinished_bytes) +
                  " bytes of memory");
  else if (unread_ > limits_.unread_bytes)
    refuse(c, "unread answers use more than " + std::to_string(limits_.unread_bytes) +
                  " bytes of memory");
}

std::string tcp_store::take_unsent(connection_id id) {
  auto& c = *connections_.at(id);
  c.is_touched = false;
  return std::exchange(c.out, {});
}

void tcp_store::note_unread(connection_id id, std::size_t bytes) {
  auto& c = *connections_.at(id);
  c.unread = bytes;
  count_memory(c);
}

std::string const& tcp_store::refusal(connection_id id) const {
  return connections_.at(id)->refusal;
}

void tcp_store::touch(connection& c) {
  if (c.is_touched) return;
  c.is_touched = true;
  hooks_.touched(c.id);
}

void tcp_store::refuse(connection& c, std::string why) {
  if (!c.refusal.empty()) return;
  c.refusal = std::move(why);
  hooks_.tell({incident::kind::refused, c.peer, who(c) + ": " + c.refusal});
  touch(c);
}

bool tcp_store::make_room(connection& c, std::size_t keys, std::size_t bytes) {
  auto const fits = [&] {
    return usage_.entries + keys <= limits_.keys && usage_.bytes + bytes <= limits_.bytes;
  };
  if (!fits() && before_ && before_->connections == 0) before_.reset();
  if (fits()) return true;
  refuse(c, "keys and values: the limit is reached: " + std::to_string(limits_.keys) +
                " keys and " + std::to_string(limits_.bytes) + " bytes");
  return false;
}

bool tcp_store::may_answer(connection& c, std::size_t bytes) {
  if (bytes <= limits_.answer_bytes) return true;
  refuse(c, std::string(name(command_.what)) + ": an answer of " + std::to_string(bytes) +
                " bytes, the limit is " + std::to_string(limits_.answer_bytes));
  return false;
}

std::uint64_t tcp_store::begin_attempt(attempt_cause cause, core::time_point now) {
  auto const woken = [this](waiter& w) {
    auto& c = static_cast<connection&>(w);
    c.out.push_back(0);
    touch(c);
  };
  auto const old =
      std::exchange(current_, std::make_shared<space>(++last_attempt_, cause, now, woken, usage_));
  if (old && old->keys.entries() > 0) before_ = old;
  if (old)
    for (auto& [id, c] : connections_)
      if (c->space == old && c->is_fresh) move(*c, current_);
  if (cause != attempt_cause::first && cause != attempt_cause::launched)
    hooks_.tell({incident::kind::attempt_began, "",
                 "attempt " + std::to_string(last_attempt_) + " starts with no keys"});
  return last_attempt_;
}

void tcp_store::move(connection& c, space_ptr const& to) {
  --c.space->connections;
  c.space = to;
  ++to->connections;
  note_rank(c);
}

// A rank is represented by its first open connection until one of its connections writes the rank's
// address.
void tcp_store::note_rank(connection& c) {
  if (!c.is_known) return;
  auto const it = c.space->ranks.find(*c.rank);
  if (it == c.space->ranks.end() ||
      (!it->second.wrote && !connections_.contains(it->second.connection)))
    c.space->ranks[*c.rank] = {c.id, c.peer, c.pid};
}

// A process writes its rank's address once. If another process has already written it, the rank was
// restarted, and old keys would mislead it. While the first connection is open, a second connection
// counts as the same process if its process ID and host match.
void tcp_store::write_address(connection& c, std::uint32_t rank, core::time_point now) {
  auto const is_anothers = [&](space const& s) {
    auto const it = s.ranks.find(rank);
    if (it == s.ranks.end() || it->second.connection == c.id || !it->second.wrote) return false;
    bool const same = c.is_known ? c.rank == rank
                                 : c.pid && it->second.pid == c.pid &&
                                       host_of(it->second.peer) == host_of(c.peer);
    return !same || !connections_.contains(it->second.connection);
  };
  if (is_anothers(*c.space)) {
    if (is_anothers(*current_)) begin_attempt(attempt_cause::rank_restarted, now);
    if (c.space != current_) move(c, current_);
  }
  c.rank = rank;
  c.space->ranks[rank] = {c.id, c.peer, c.pid, true};
}

}  // namespace muster::torch
