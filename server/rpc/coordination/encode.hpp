// Answers that have the same bytes in both dialects, written without a message in between: they are
// the hot ones, and a large value goes to all its readers without being copied. Free functions;
// engine thread.
#pragma once

#include <string_view>

#include "server/rpc/coordination/method.hpp"

namespace muster::server {

/// Every answer without content.
bool encode_nothing(answer_scope const&, core::coordination::reply&, grpc::ByteBuffer& out);
/// RegisterTask, Heartbeat: {fixed64 incarnation = 1}.
bool encode_incarnation(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// Barrier: {int64 counter = 1}.
bool encode_counter(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// GetKeyValue, TryGetKeyValue, IncrementKeyValue: {KeyValueEntry{key = 1, value = 2} = 1}.
bool encode_key_value(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);
/// GetKeyValueDir: {repeated KeyValueEntry = 2}.
bool encode_key_values(answer_scope const&, core::coordination::reply& r, grpc::ByteBuffer& out);

}  // namespace muster::server
