#include "server/torch/rank_keys.hpp"
#include "server/torch/tcp_store.hpp"
#include "server/torch/tcp_store_state.hpp"

namespace muster::torch {
namespace {

bool says_nothing_of_an_attempt(command const& c) {
  return c.what == op::validate || c.what == op::ping ||
         (c.what == op::add && c.words.front() == key_of_beginning);
}

}  // namespace

// Clients before torch 2.1 do not report that they have stopped waiting. Any further command
// therefore ends the wait.
void tcp_store::carry_out(connection& c, core::time_point now) {
  if (c.waits()) c.space->keys.withdraw(c);
  if (c.is_fresh && !says_nothing_of_an_attempt(command_)) {
    auto const rank = command_.what == op::set ? rank_of_key(command_.words.front()) : std::nullopt;
    if (!rank) c.is_fresh = false;
  }
  auto& keys = c.space->keys;
  auto const& words = command_.words;
  switch (command_.what) {
    case op::validate:
      if (static_cast<std::uint32_t>(command_.number) != magic)
        refuse(c, "VALIDATE: the number is not the magic number of PyTorch's protocol");
      return;
    case op::ping:
      c.pid = static_cast<std::uint32_t>(command_.number);
      if (auto const it = c.is_known ? c.space->ranks.find(*c.rank) : c.space->ranks.end();
          it != c.space->ranks.end() && it->second.connection == c.id)
        it->second.pid = c.pid;
      put(c.out, *c.pid);
      break;
    case op::set:
      return set(c, now);
    case op::compare_set:
      compare_set(c);
      break;
    case op::get: {
      auto const* found = keys.find(words[0]);
      put_text(c.out, found ? std::string_view(*found) : std::string_view());
      break;
    }
    case op::add:
      add(c);
      break;
    case op::check:
      check(c);
      break;
    case op::wait:
      wait(c, now);
      break;
    case op::count_keys:
      put<std::int64_t>(c.out, static_cast<std::int64_t>(keys.all().size()));
      break;
    case op::watch:
      return refuse(c, "WATCH_KEY: not supported");
    case op::delete_key:
      put<std::int64_t>(c.out, keys.erase(words[0]) ? 1 : 0);
      break;
    case op::append:
      return append(c);
    case op::multi_get:
      multi_get(c);
      break;
    case op::multi_set:
      return multi_set(c);
    case op::cancel_wait:
      c.out.push_back(1);
      break;
    case op::queue_push:
      return push(c);
    case op::queue_pop:
      pop(c);
      break;
    case op::queue_length:
      put<std::int64_t>(c.out, static_cast<std::int64_t>(keys.length(words[0])));
      break;
    case op::list_keys:
      list(c);
      break;
    case op::barrier:
      arrive(c, now);
      break;
  }
  if (!c.out.empty()) touch(c);
}

void tcp_store::set(connection& c, core::time_point now) {
  auto const key = command_.words[0], value = command_.words[1];
  if (auto const rank = rank_of_key(key)) {
    write_address(c, *rank, now);
    c.is_fresh = false;
  }
  if (make_room(c, 1, key.size() + value.size() + key_space::entry_bytes))
    c.space->keys.set(key, value);
}

void tcp_store::compare_set(connection& c) {
  auto const& w = command_.words;
  if (!make_room(c, 1, w[0].size() + w[2].size() + key_space::entry_bytes)) return;
  put_text(c.out, c.space->keys.compare_set(w[0], w[1], w[2]));
}

void tcp_store::add(connection& c) {
  auto const key = command_.words[0];
  if (!make_room(c, 1, key.size() + 20 + key_space::entry_bytes)) return;
  auto const sum = c.space->keys.add(key, command_.number);
  if (!sum) return refuse(c, "ADD: the value of the key is not a number");
  put(c.out, *sum);
}

void tcp_store::append(connection& c) {
  auto const key = command_.words[0], value = command_.words[1];
  auto const* there = c.space->keys.find(key);
  if (there && there->size() + value.size() > limits_.answer_bytes)
    return refuse(c, "APPEND: the value would be longer than " +
                         std::to_string(limits_.answer_bytes) + " bytes");
  if (make_room(c, 1, key.size() + value.size() + key_space::entry_bytes))
    c.space->keys.append(key, value);
}

void tcp_store::check(connection& c) {
  bool all = true;
  for (auto const key : command_.words) all = all && c.space->keys.is_there(key);
  c.out.push_back(all ? 0 : 1);
}

void tcp_store::wait(connection& c, core::time_point now) {
  if (usage_.awaited + command_.words.size() > limits_.awaited_keys)
    return refuse(c, "WAIT: clients are waiting for too many keys; the limit is " +
                         std::to_string(limits_.awaited_keys));
  if (c.space->keys.wait(c, command_.words, now)) c.out.push_back(0);
}

void tcp_store::multi_get(connection& c) {
  std::size_t bytes = 0;
  for (auto const key : command_.words) {
    auto const* found = c.space->keys.find(key);
    bytes += 8 + (found ? found->size() : 0);
  }
  if (!may_answer(c, bytes)) return;
  for (auto const key : command_.words) {
    auto const* found = c.space->keys.find(key);
    put_text(c.out, found ? std::string_view(*found) : std::string_view());
  }
}

void tcp_store::multi_set(connection& c) {
  auto const& w = command_.words;
  std::size_t bytes = 0;
  for (auto const word : w) bytes += word.size();
  if (!make_room(c, w.size() / 2, bytes + w.size() / 2 * key_space::entry_bytes)) return;
  for (std::size_t i = 0; i + 1 < w.size(); i += 2) c.space->keys.set(w[i], w[i + 1]);
}

void tcp_store::push(connection& c) {
  auto const key = command_.words[0], value = command_.words[1];
  if (make_room(c, 1, key.size() + value.size() + key_space::entry_bytes))
    c.space->keys.push(key, value);
}

void tcp_store::pop(connection& c) {
  auto const key = command_.words[0];
  auto const length = c.space->keys.length(key);
  put<std::int64_t>(c.out, static_cast<std::int64_t>(length));
  if (length > 0) put_text(c.out, c.space->keys.pop(key));
}

void tcp_store::list(connection& c) {
  auto const& all = c.space->keys.all();
  std::size_t bytes = 8;
  for (auto const& [key, value] : all) bytes += 8 + key.size();
  if (!may_answer(c, bytes)) return;
  put<std::int64_t>(c.out, static_cast<std::int64_t>(all.size()));
  for (auto const& [key, value] : all) put_text(c.out, key);
}

void tcp_store::arrive(connection& c, core::time_point now) {
  auto const key = command_.words[0];
  if (usage_.awaited >= limits_.awaited_keys)
    return refuse(c, "BARRIER: too many clients are waiting; the limit is " +
                         std::to_string(limits_.awaited_keys));
  if (!make_room(c, 1, key.size() + 20 + key_space::entry_bytes)) return;
  auto const all = c.space->keys.arrive(c, key, command_.number, now);
  if (!all) return refuse(c, "BARRIER: the value of the key is not a number");
  if (*all) c.out.push_back(0);
}

}  // namespace muster::torch
