#include "server/torch/wire/commands.hpp"

#include <array>

namespace muster::torch {
namespace {

constexpr std::string_view names[] = {
    "VALIDATE",   "SET",        "COMPARE_SET", "GET",       "ADD",       "CHECK",     "WAIT",
    "GETNUMKEYS", "WATCH_KEY",  "DELETE_KEY",  "APPEND",    "MULTI_GET", "MULTI_SET", "CANCEL_WAIT",
    "PING",       "QUEUE_PUSH", "QUEUE_POP",   "QUEUE_LEN", "LIST_KEYS", "BARRIER"};

// Operations, indexed by command byte. In `a`, entries beyond 8 occur only in versions between
// releases.
constexpr std::array of_a = {op::set,        op::compare_set, op::get,        op::add,
                             op::check,      op::wait,        op::count_keys, op::watch,
                             op::delete_key, op::append,      op::multi_get,  op::multi_set,
                             op::cancel_wait};
constexpr std::array of_b = {op::set,    op::compare_set, op::get,        op::add,
                             op::check,  op::wait,        op::count_keys, op::delete_key,
                             op::append, op::multi_get,   op::multi_set,  op::cancel_wait};
constexpr std::array of_c = {op::validate,     op::set,       op::compare_set, op::get,
                             op::add,          op::check,     op::wait,        op::count_keys,
                             op::delete_key,   op::append,    op::multi_get,   op::multi_set,
                             op::cancel_wait,  op::ping,      op::queue_push,  op::queue_pop,
                             op::queue_length, op::list_keys, op::barrier};

template <class Table>
std::optional<op> look_up(Table const& table, std::uint8_t byte) {
  if (byte >= table.size()) return std::nullopt;
  return table[byte];
}

}  // namespace

std::string_view name(numbering n) {
  constexpr std::string_view texts[] = {"A", "B", "C"};
  return texts[static_cast<unsigned>(n)];
}

std::optional<numbering> numbering_of(std::string_view name) {
  if (name == "A") return numbering::a;
  if (name == "B") return numbering::b;
  if (name == "C") return numbering::c;
  return std::nullopt;
}

std::string_view name(op what) {
  return names[static_cast<unsigned>(what)];
}

shape shape_of(op what) {
  switch (what) {
    case op::validate:
    case op::ping:
      return {.number_bytes = 4};
    case op::set:
    case op::append:
    case op::queue_push:
      return {.words = 2};
    case op::compare_set:
      return {.words = 3};
    case op::add:
    case op::barrier:
      return {.words = 1, .number_bytes = 8};
    case op::check:
    case op::wait:
    case op::multi_get:
      return {.words = 1, .counted = true};
    case op::multi_set:
      return {.words = 2, .counted = true};
    case op::get:
    case op::watch:
    case op::delete_key:
    case op::queue_pop:
    case op::queue_length:
      return {.words = 1};
    case op::count_keys:
    case op::cancel_wait:
    case op::list_keys:
      break;
  }
  return {};
}

std::optional<op> command_of(numbering n, std::uint8_t byte) {
  switch (n) {
    case numbering::a:
      return look_up(of_a, byte);
    case numbering::b:
      return look_up(of_b, byte);
    case numbering::c:
      break;
  }
  return look_up(of_c, byte);
}

}  // namespace muster::torch
