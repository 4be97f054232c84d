// Makes a row of a dialect's table from two overloaded functions found by argument-dependent
// look-up or in the dialect's file: `to_core(coordination_call&, Request&)` and
// `to_wire(answer_scope const&, reply&, Response&)`. Included by the dialects only.
#pragma once

#include <google/protobuf/arena.h>

#include <algorithm>

#include "proto/byte_buffer.hpp"
#include "server/rpc/coordination/call.hpp"
#include "server/rpc/coordination/encode.hpp"

namespace muster::server {

inline constexpr std::size_t slots_hot = 64;
inline constexpr std::size_t slots_rare = 8;

/// Answers with nothing in them.
struct nothing {};

template <class Request>
bool ask_by_message(coordination_call& call, grpc::ByteBuffer& bytes) {
  // Requests are small; what they consist of besides strings fits on the stack.
  alignas(std::max_align_t) char block[1'024];
  google::protobuf::Arena arena(block, sizeof(block));
  auto& m = *google::protobuf::Arena::CreateMessage<Request>(&arena);
  if (!proto::decode(bytes, m)) return false;
  auto r = to_core(call, m);
  // XLA's dialect says in every call but the registration which service it believes to talk to.
  if constexpr (requires { m.incarnations(); })
    r.from.service = core::incarnation{m.incarnations().service_incarnation()};
  call.ask(std::move(r));
  return true;
}

template <class Response>
bool encode_message(answer_scope const& scope, core::coordination::reply& r,
                    grpc::ByteBuffer& out) {
  Response m;
  to_wire(scope, r, m);
  return proto::encode(m, out);
}

/// A row whose answer is a message.
template <class Request, class Response>
coordination_method answered_by(char const* path, bool parks, std::size_t slots) {
  return {path, parks, slots, ask_by_message<Request>, encode_message<Response>};
}

/// A row whose answer has an encoder of its own.
template <class Request>
coordination_method encoded_by(char const* path, bool parks, std::size_t slots,
                               decltype(coordination_method::encode) encode) {
  return {path, parks, slots, ask_by_message<Request>, encode};
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

}  // namespace muster::server
