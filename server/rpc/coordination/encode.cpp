#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "server/rpc/coordination/method.hpp"

namespace muster::server {

namespace coordination = core::coordination;

namespace {

using coded = google::protobuf::io::CodedOutputStream;

// Values below this size are copied, which costs less than reference counting.
constexpr std::size_t shared_value_bytes = 4'096;
constexpr std::size_t message_bytes_max = std::numeric_limits<std::int32_t>::max();

constexpr std::uint8_t tag(std::uint32_t field, std::uint32_t wire_type) {
  return static_cast<std::uint8_t>(field << 3 | wire_type);
}
constexpr std::uint32_t varint = 0, fixed_64 = 1, counted_bytes = 2;

// Layout of a KeyValueEntry that is field `field` of its message: some bytes, then the value.
struct entry_layout {
  entry_layout(std::uint32_t number, coordination::key_value const& kv)
      : field(number), key(kv.first), value_bytes(kv.second.size()) {
    inner = 1 + coded::VarintSize64(key.size()) + key.size();
    if (value_bytes != 0) inner += 1 + coded::VarintSize64(value_bytes) + value_bytes;
    total = 1 + coded::VarintSize64(inner) + inner;
  }
  std::size_t head_bytes() const { return total - value_bytes; }
  std::uint8_t* write_head(std::uint8_t* at) const {
    *at++ = tag(field, counted_bytes);
    at = coded::WriteVarint64ToArray(inner, at);
    *at++ = tag(1, counted_bytes);
    at = coded::WriteVarint64ToArray(key.size(), at);
    at = std::copy(key.begin(), key.end(), at);
    if (value_bytes == 0) return at;
    *at++ = tag(2, counted_bytes);
    return coded::WriteVarint64ToArray(value_bytes, at);
  }
  std::uint32_t field;
  std::string_view key;
  std::size_t value_bytes;
  std::size_t inner = 0;
  std::size_t total = 0;
};

grpc::Slice uninitialised(std::size_t bytes) {
  return grpc::Slice(grpc_slice_malloc(bytes), grpc::Slice::STEAL_REF);
}
std::uint8_t* data(grpc::Slice const& s) {
  return const_cast<std::uint8_t*>(s.begin());
}

grpc::Slice sharing(core::blob value) {
  auto* held = new core::blob(std::move(value));
  auto const bytes = held->view();
  return grpc::Slice(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* p) { delete static_cast<core::blob*>(p); }, held);
}

void set(grpc::ByteBuffer& out, std::vector<grpc::Slice> const& slices) {
  grpc::ByteBuffer made(slices.data(), slices.size());
  out.Swap(&made);
}
void set(grpc::ByteBuffer& out, grpc::Slice const& slice) {
  grpc::ByteBuffer made(&slice, 1);
  out.Swap(&made);
}

}  // namespace

bool encode_nothing(answer_scope const&, coordination::reply&, grpc::ByteBuffer& out) {
  set(out, grpc::Slice());
  return true;
}

bool encode_incarnation(answer_scope const&, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const s = uninitialised(9);
  auto* const at = data(s);
  *at = tag(1, fixed_64);
  coded::WriteLittleEndian64ToArray(core::raw(std::get<core::incarnation>(r.body)), at + 1);
  set(out, s);
  return true;
}

bool encode_registration(answer_scope const& scope, coordination::reply& r, grpc::ByteBuffer& out) {
  constexpr std::uint32_t timeout_tag = 100 << 3 | varint;
  using std::chrono::milliseconds;
  if (!scope.spec) return encode_incarnation(scope, r, out);
  auto const timeout = std::chrono::floor<milliseconds>(scope.spec->heartbeat_timeout).count();
  auto const ms = static_cast<std::uint64_t>(std::max<milliseconds::rep>(timeout, 1));
  auto const s = uninitialised(9 + coded::VarintSize32(timeout_tag) + coded::VarintSize64(ms));
  auto* at = data(s);
  *at++ = tag(1, fixed_64);
  at = coded::WriteLittleEndian64ToArray(core::raw(std::get<core::incarnation>(r.body)), at);
  at = coded::WriteVarint32ToArray(timeout_tag, at);
  coded::WriteVarint64ToArray(ms, at);
  set(out, s);
  return true;
}

bool encode_counter(answer_scope const&, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const counter = static_cast<std::uint64_t>(std::get<std::int64_t>(r.body));
  if (counter == 0) return encode_nothing({}, r, out);
  auto const s = uninitialised(1 + coded::VarintSize64(counter));
  *data(s) = tag(1, varint);
  coded::WriteVarint64ToArray(counter, data(s) + 1);
  set(out, s);
  return true;
}

bool encode_key_value(answer_scope const&, coordination::reply& r, grpc::ByteBuffer& out) {
  auto& kv = std::get<coordination::key_value>(r.body);
  entry_layout const layout(1, kv);
  if (layout.total > message_bytes_max) return false;
  bool const shared = layout.value_bytes >= shared_value_bytes;
  auto head = uninitialised(shared ? layout.head_bytes() : layout.total);
  auto* const end = layout.write_head(data(head));
  if (shared) {
    set(out, {std::move(head), sharing(std::move(kv.second))});
    return true;
  }
  auto const value = kv.second.view();
  std::copy(value.begin(), value.end(), end);
  set(out, head);
  return true;
}

bool encode_key_values(answer_scope const&, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& all = std::get<std::vector<coordination::key_value>>(r.body);
  std::size_t bytes = 0;
  for (auto const& kv : all) bytes += entry_layout(2, kv).total;
  if (bytes > message_bytes_max) return false;
  auto const s = uninitialised(bytes);
  auto* at = data(s);
  for (auto const& kv : all) {
    at = entry_layout(2, kv).write_head(at);
    auto const value = kv.second.view();
    at = std::copy(value.begin(), value.end(), at);
  }
  set(out, s);
  return true;
}

}  // namespace muster::server
