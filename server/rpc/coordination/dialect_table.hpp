// Makes a row of a dialect's table from overloaded functions found by argument-dependent look-up:
// `fill(coordination_call&, Request&, <question of the core>&)` and
// `to_wire(answer_scope const&, reply&, Response&)`. What both dialects say in the same fields is
// filled here, by `source_task(coordination_call const&, Request const&)` and
// `participants(coordination_call const&, Request const&)` of the dialect; what a dialect says in
// its own way it fills itself. Included by the dialects only.
#pragma once

#include <google/protobuf/arena.h>

#include <algorithm>
#include <concepts>
#include <string>
#include <string_view>

#include "proto/byte_buffer.hpp"
#include "server/rpc/coordination/call.hpp"

namespace muster::server {

inline constexpr std::size_t slots_hot = 64;
inline constexpr std::size_t slots_rare = 8;

inline core::blob bytes_of(std::string const& s) {
  return core::blob(s, core::encoding::bytes);
}

/// Requests carry milliseconds; no wait is longer than this, or times would overflow.
inline core::duration wait_time(std::int64_t ms) {
  using std::chrono::milliseconds;
  constexpr milliseconds longest = std::chrono::years(10);
  return std::clamp(milliseconds(ms), milliseconds(0), longest);
}

/// What a task reports about itself; anything that is no error code counts as UNKNOWN.
inline muster::code reported_code(std::int32_t code) {
  return code >= 1 && code <= 16 ? static_cast<muster::code>(code) : muster::code::unknown;
}

template <class Request>
void fill(coordination_call& c, Request& m, core::coordination::register_task& q) {
  q = {{}, source_task(c, m), core::incarnation{m.incarnation()}, false, c.peer()};
  if constexpr (requires { m.source_task().recoverable(); })
    q.recoverable = m.source_task().recoverable();
}
/// Those who say no more than who asks.
template <class Request, class Question>
requires(std::same_as<Question, core::coordination::shutdown_task> ||
         std::same_as<Question, core::coordination::reset_task> ||
         std::same_as<Question, core::coordination::poll_for_error>) void fill(coordination_call& c,
                                                                               Request& m,
                                                                               Question& q) {
  q = {{}, source_task(c, m)};
}
template <class Request>
void fill(coordination_call& c, Request& m, core::coordination::heartbeat& q) {
  q = {{}, source_task(c, m), core::incarnation{m.incarnation()}};
}
template <class Request>
void fill(coordination_call& c, Request& m, core::coordination::report_error& q) {
  q = {{}, source_task(c, m), reported_code(m.error_code()), m.error_message()};
}
template <class Request>
void fill(coordination_call&, Request& m, core::coordination::insert_key_value& q) {
  auto& kv = *m.mutable_kv();
  q = {{}, std::move(*kv.mutable_key()), bytes_of(kv.value()), m.allow_overwrite()};
}
template <class Request>
void fill(coordination_call&, Request& m, core::coordination::increment_key_value& q) {
  q = {{}, std::move(*m.mutable_key()), m.increment()};
}
template <class Request>
void fill(coordination_call&, Request& m, core::coordination::get_key_value_dir& q) {
  q = {{}, std::move(*m.mutable_directory_key())};
}
template <class Request>
void fill(coordination_call&, Request& m, core::coordination::delete_key_value& q) {
  q = {{}, std::move(*m.mutable_key())};
}
template <class Request>
void fill(coordination_call& c, Request& m, core::coordination::enter_barrier& q) {
  q = {{},
       std::move(*m.mutable_barrier_id()),
       m.counter(),
       wait_time(m.barrier_timeout_in_ms()),
       source_task(c, m),
       participants(c, m)};
}
template <class Request>
void fill(coordination_call&, Request& m, core::coordination::cancel_barrier& q) {
  q = {{}, std::move(*m.mutable_barrier_id()), m.counter()};
}

template <class Question, class Request>
bool ask_by_message(coordination_call& call, grpc::ByteBuffer& bytes) {
  // Requests are small; what they consist of besides strings fits on the stack.
  alignas(std::max_align_t) char block[1'024];
  google::protobuf::Arena arena(block, sizeof(block));
  auto& m = *google::protobuf::Arena::CreateMessage<Request>(&arena);
  if (!proto::decode(bytes, m)) return false;
  Question r;
  fill(call, m, r);
  // XLA's dialect says in every call but the registration which service it believes to talk to.
  if constexpr (requires { m.incarnations(); })
    r.from.service = core::incarnation{m.incarnations().service_incarnation()};
  call.ask(std::move(r));
  return true;
}

/// "/package.CoordinationService/Heartbeat" of a HeartbeatRequest.
template <class Request>
std::string path_of() {
  auto const& message = *Request::descriptor();
  auto const without_suffix = message.name().size() - std::string_view("Request").size();
  return "/" + message.file()->package() + ".CoordinationService/" +
         message.name().substr(0, without_suffix);
}

/// Encodes once for all who get `what` in this variant: `write(message)`.
template <class Response, class T, class Write>
bool encode_once(answer_scope const& scope, std::shared_ptr<T const> const& what,
                 std::uint64_t variant, grpc::ByteBuffer& out, Write const& write) {
  out = scope.encoded->get(what, variant, [&] {
    google::protobuf::Arena arena;
    auto& m = *google::protobuf::Arena::CreateMessage<Response>(&arena);
    write(m);
    grpc::ByteBuffer bytes;
    return proto::encode(m, bytes) ? bytes : grpc::ByteBuffer();
  });
  return out.Valid();
}

template <class Response>
bool encode_message(answer_scope const& scope, core::coordination::reply& r,
                    grpc::ByteBuffer& out) {
  Response m;
  to_wire(scope, r, m);
  return proto::encode(m, out);
}

/// A row whose answer is a message.
template <class Question, class Request, class Response>
coordination_method answered_by(bool parks, std::size_t slots) {
  return {path_of<Request>(), parks, slots, ask_by_message<Question, Request>,
          encode_message<Response>};
}

/// A row whose answer has an encoder of its own.
template <class Question, class Request>
coordination_method encoded_by(bool parks, std::size_t slots,
                               decltype(coordination_method::encode) encode) {
  return {path_of<Request>(), parks, slots, ask_by_message<Question, Request>, encode};
}

}  // namespace muster::server
