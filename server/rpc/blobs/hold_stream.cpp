#include "server/rpc/blobs/hold_stream.hpp"

#include <algorithm>

#include "server/net/own_certificate.hpp"
#include "server/rpc/call_access.hpp"

namespace muster::server {
namespace {

constexpr std::chrono::milliseconds finish_grace{5'000};
constexpr std::chrono::milliseconds first_message_within{10'000};
constexpr std::size_t socket_bytes_max = 100;
constexpr std::size_t task_bytes_max = 256;
constexpr std::size_t peer_bytes_max = 300;
constexpr std::size_t host_bytes_max = 64;

bool names_socket(std::string_view text) {
  auto const fits = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= socket_bytes_max &&
         std::all_of(text.begin(), text.end(), fits);
}

muster::status check_length(std::string const& text, std::string const& field, std::size_t most) {
  if (text.size() <= most) return {};
  return invalid(field + ": has " + std::to_string(text.size()) + " bytes, the limit is " +
                 std::to_string(most));
}

muster::status check_names(google::protobuf::RepeatedPtrField<std::string> const& names,
                           std::string_view field) {
  for (int i = 0; i < names.size(); ++i)
    if (names[i].size() != blob_store::hash_bytes)
      return invalid(std::string(field) + "[" + std::to_string(i) + "]: must have 32 bytes, got " +
                     std::to_string(names[i].size()));
  return {};
}

}  // namespace

muster::status check_host(std::string const& host) {
  return check_length(host, "host", host_bytes_max);
}

hold_stream::hold_stream(call& c, blob_store& store, gate const* who)
    : message_stream(c, finish_grace), store_(store), who_(who) {}

hold_stream::~hold_stream() {
  if (id_ != 0) store_.holders().close(id_, store_.now());
}

coro::task<void> hold_stream::run() {
  auto serving = serve("unix_socket", first_message_within);
  co_await std::move(serving);
}

void hold_stream::shut_down() {
  end({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
}

v1::HoldResponse& hold_stream::next() {
  wake();
  return out_.add_entry(blob_store::hash_bytes + 2);
}

void hold_stream::before_write() {
  if (out_.empty()) waiting_.clear();
}

void hold_stream::on_upload_requested(std::string_view name) {
  if (waiting_.emplace(name).second) next().add_wanted(std::string(name));
}

bool hold_stream::on_ticket(std::string_view ticket, std::string_view name) {
  if (out_.entries() >= waiting_max) return false;
  auto& told = *next().add_ticket();
  told.set_ticket(std::string(ticket));
  told.set_name(std::string(name));
  return true;
}

void hold_stream::on_released(std::string_view name) {
  next().add_unneeded(std::string(name));
}

muster::status hold_stream::take(v1::HoldRequest const& message) {
  if (id_ == 0)
    if (auto wrong = take_first(message); !wrong.ok()) return wrong;
  store_.holders().traffic().shared += message.shared_bytes();
  store_.holders().traffic().peer += message.peer_bytes();
  return take_names(message);
}

muster::status hold_stream::take_first(v1::HoldRequest const& message) {
  if (!names_socket(message.unix_socket()))
    return invalid("unix_socket: expected 1 to " + std::to_string(socket_bytes_max) +
                   " letters, digits, '-', '_' or '.'");
  if (auto wrong = check_length(message.task(), "task", task_bytes_max); !wrong.ok()) return wrong;
  if (auto wrong = check_length(message.peer(), "peer", peer_bytes_max); !wrong.ok()) return wrong;
  if (auto wrong = check_host(message.host()); !wrong.ok()) return wrong;
  greeted();
  blob_holders::peer at{message.peer(), {}};
  auto& first = next();
  if (store_.tls() && !at.address.empty()) {
    auto made = net::make_own_certificate();
    if (!made) return made.error();
    first.set_key(std::move(made->key));
    first.set_certificate(made->certificate);
    at.certificate = std::move(made->certificate);
  }
  core::holder_hello hello{message.unix_socket(), message.task(), message.host(), message.former()};
  id_ = store_.holders().open(*this, std::move(hello), std::move(at));
  first.set_holder(id_);
  first.set_outputs_stay(store_.outputs_stay());
  first.set_blob_bytes_max(store_.limits().blob_bytes_max);
  return {};
}

muster::status hold_stream::take_names(v1::HoldRequest const& message) {
  if (message.held_size() != message.size_size())
    return invalid("size: has " + std::to_string(message.size_size()) + " values, but held has " +
                   std::to_string(message.held_size()));
  if (message.copy_size() != 0 && message.copy_size() != message.held_size())
    return invalid("copy: has " + std::to_string(message.copy_size()) + " values, but held has " +
                   std::to_string(message.held_size()));
  if (auto wrong = check_names(message.held(), "held"); !wrong.ok()) return wrong;
  if (auto wrong = check_names(message.dropped(), "dropped"); !wrong.ok()) return wrong;
  auto& table = store_.holders().table();
  for (int i = 0; i < message.held_size(); ++i)
    if (i < message.copy_size() && message.copy(i))
      take_copy(message.held(i), message.size(i));
    else if (!table.hold(id_, message.held(i), message.size(i), store_.now()))
      next().add_refused(message.held(i));
  for (auto const& name : message.dropped()) table.drop(id_, name, store_.now());
  return {};
}

// Only callers with the work permission can register copies, because other processes fetch the
// copies. The server notifies the worker about a rejected copy, and the worker decides when to
// release it.
void hold_stream::take_copy(std::string const& name, std::uint64_t size) {
  auto& table = store_.holders().table();
  bool const listed =
      store_.is_named(name) && may_work() && table.copy(id_, name, size, store_.now());
  if (!listed) next().add_unlisted(name);
}

bool hold_stream::may_work() const {
  auto const caller = caller_of(who_, call_.context());
  return !caller || core::allows(caller->role, core::permission::work);
}

}  // namespace muster::server
