// Creates the rows of the method table for a wire protocol (a dialect). Fills the fields that both
// protocols have, using the protocol's `source_task(coordination_call const&, Request const&)` and
// `participants(coordination_call const&, Request const&)`, found by argument-dependent lookup. For
// requests with other fields, each protocol defines overloads of
// `fill(coordination_call&, Request&, <core request>&)`.
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

/// Converts a request's time in milliseconds. Clamps the value, because a longer time would
/// overflow.
inline core::duration wait_time(std::int64_t ms) {
  using std::chrono::milliseconds;
  constexpr milliseconds longest = std::chrono::years(10);
  return std::clamp(milliseconds(ms), milliseconds(0), longest);
}

/// Converts the error code that a task reports. An invalid code becomes UNKNOWN.
inline muster::code reported_code(std::int32_t code) {
  return code >= 1 && code <= 16 ? static_cast<muster::code>(code) : muster::code::unknown;
}

/// Fills requests whose fields are the same in both protocols.
template <class Request, class Question>
void fill(coordination_call& c, Request& m, Question& q) {
  namespace asked = core::coordination;
  if constexpr (requires { q.task; }) q.task = source_task(c, m);
  if constexpr (requires { q.key, m.key(); }) q.key = std::move(*m.mutable_key());
  if constexpr (requires { q.id, m.barrier_id(); }) {
    q.id = std::move(*m.mutable_barrier_id());
    q.counter = m.counter();
  }
  if constexpr (requires { q.incarnation, m.incarnation(); })
    q.incarnation = core::incarnation{m.incarnation()};
  if constexpr (std::same_as<Question, asked::register_task>) {
    if constexpr (requires { m.source_task().recoverable(); })
      q.recoverable = m.source_task().recoverable();
    q.peer = c.peer();
  } else if constexpr (std::same_as<Question, asked::report_error>) {
    q.code = reported_code(m.error_code());
    q.message = m.error_message();
  } else if constexpr (std::same_as<Question, asked::insert_key_value>) {
    q.key = std::move(*m.mutable_kv()->mutable_key());
    q.value = bytes_of(m.kv().value());
    q.overwrite = m.allow_overwrite();
  } else if constexpr (std::same_as<Question, asked::get_key_value>) {
    q.wait = c.may_wait();
    if constexpr (requires { m.incarnations(); })
      q.incarnation = core::incarnation{m.incarnations().task_incarnation()};
    if (q.wait && q.incarnation == core::incarnation{}) q.peer = c.peer();
  } else if constexpr (std::same_as<Question, asked::increment_key_value>) {
    q.increment = m.increment();
  } else if constexpr (std::same_as<Question, asked::get_key_value_dir>) {
    q.directory = std::move(*m.mutable_directory_key());
  } else if constexpr (std::same_as<Question, asked::enter_barrier>) {
    q.timeout = wait_time(m.barrier_timeout_in_ms());
    q.participants = participants(c, m);
  }
}

template <class Question, class Request>
bool ask_by_message(coordination_call& call, grpc::ByteBuffer& bytes) {
  alignas(std::max_align_t) char block[1'024];
  google::protobuf::Arena arena(block, sizeof(block));
  auto& m = *google::protobuf::Arena::CreateMessage<Request>(&arena);
  if (!proto::decode(bytes, m)) return false;
  Question r;
  fill(call, m, r);
  // In XLA's protocol, every call except registration contains the service incarnation that it
  // expects.
  if constexpr (requires { m.incarnations(); }) {
    r.from.service = core::incarnation{m.incarnations().service_incarnation()};
    r.from.process = core::incarnation{m.incarnations().task_incarnation()};
  }
  call.ask(std::move(r));
  return true;
}

/// Returns, for example, "/package.CoordinationService/Heartbeat" for HeartbeatRequest.
template <class Request>
std::string path_of() {
  auto const& message = *Request::descriptor();
  auto const without_suffix = message.name().size() - std::string_view("Request").size();
  return "/" + message.file()->package() + ".CoordinationService/" +
         message.name().substr(0, without_suffix);
}

/// Encodes with `write(message)` once, and shares the bytes among all callers that receive `what`
/// in this format.
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

template <class Question, class Request>
coordination_method row(bool parks, std::size_t slots,
                        decltype(coordination_method::encode) encode) {
  return {path_of<Request>(), parks, slots, ask_by_message<Question, Request>, encode};
}

}  // namespace muster::server
