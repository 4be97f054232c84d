// An upload consists of a header with hash and size, the data chunks and a half-close. The response
// to a download contains the size and the data chunks of each requested hash.
#include "server/rpc/blobs/blob_calls.hpp"

#include <boost/asio/this_coro.hpp>

#include "server/rpc/call_access.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

muster::status shutting_down() {
  return {muster::code::unavailable, "the server is shutting down"};
}

// Creates the status in a plain function, because GCC 12 destroys an aggregate twice if a coroutine
// creates it.
muster::status behind_its_end(std::uint64_t offset, std::uint64_t size) {
  return {muster::code::out_of_range, "offset: " + std::to_string(offset) +
                                          ", but the blob has only " + std::to_string(size) +
                                          " bytes"};
}
muster::status client_gone() {
  return {muster::code::cancelled, "the client has disconnected"};
}

muster::status check_hash(std::string const& hash, char const* field = "sha256") {
  if (hash.size() == blob_store::hash_bytes) return {};
  return invalid(std::string(field) + ": must have 32 bytes, got " + std::to_string(hash.size()));
}

}  // namespace

coro::task<void> blob_put::run() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  auto taking = take();
  auto const taken = co_await std::move(taking);
  expect_client();
  auto const status = to_grpc(taken);
  co_await call_.finish(status);
  deadline_.cancel();
}

// A name that is not the value's hash cannot be verified, so only a process that holds the value
// may upload it.
muster::status blob_put::check_first() const {
  if (auto wrong = check_hash(asked_.sha256()); !wrong.ok() || asked_.name().empty()) return wrong;
  if (auto wrong = check_hash(asked_.name(), "name"); !wrong.ok()) return wrong;
  if (store_.holders().table().holds(asked_.holder(), asked_.name())) return {};
  return {muster::code::permission_denied,
          "holder: does not have blob " + blob_hex_of(asked_.name()) + " and cannot upload it"};
}

coro::task<muster::status> blob_put::take() {
  expect_client();
  bool const came = co_await call_.read(asked_);
  if (stopping_) co_return shutting_down();
  if (!came) co_return invalid("sha256: required, but the call ended first");
  if (auto wrong = check_first(); !wrong.ok()) co_return wrong;
  auto const hash = asked_.sha256();
  auto const name = asked_.name();
  if (store_.lease(name.empty() ? hash : name)) {
    on_answer_.set_had(true);
    co_await call_.write(on_answer_);
    co_return muster::status();
  }
  auto const id = store_.begin(hash, asked_.size(), name, caller_of(who_, call_.context()));
  if (!id) co_return id.error();
  auto taking = take_pieces(*id, asked_.size());
  auto taken = co_await std::move(taking);
  if (taken.ok()) {
    store_.finish(*id, answer());
    co_await await_answer();
    taken = last_answer_;
  }
  store_.abandon(*id);
  if (!taken.ok()) co_return taken;
  expect_client();
  co_await call_.write(on_answer_);
  co_return taken;
}

coro::task<muster::status> blob_put::take_pieces(blob_store::upload_id id, std::uint64_t size) {
  std::uint64_t got = 0;
  for (;;) {
    if (auto& data = *asked_.mutable_data(); !data.empty()) {
      if (data.size() > blob_store::piece_bytes_max)
        co_return invalid("data: " + std::to_string(data.size()) + " bytes, the limit is " +
                          std::to_string(blob_store::piece_bytes_max));
      got += data.size();
      store_.append(id, std::move(data), answer());
      co_await await_answer();
      if (!last_answer_.ok()) co_return last_answer_;
    }
    if (got == size) co_return muster::status();
    expect_client();
    asked_.Clear();
    bool const came = co_await call_.read(asked_);
    if (stopping_) co_return shutting_down();
    if (!came)
      co_return invalid("size: the call ended after " + std::to_string(got) + " of " +
                        std::to_string(size) + " bytes");
  }
}

coro::task<void> blob_get::run() {
  co_await boost::asio::this_coro::throw_if_cancelled(false);
  call_.on_cancel([this] { disconnected_ = true; });
  for (;;) {
    expect_client();
    bool const came = co_await call_.read(asked_);
    if (!came || stopping_) break;
    auto giving = give();
    auto const given = co_await std::move(giving);
    if (given.ok()) continue;
    expect_client();
    auto const status = to_grpc(given);
    co_await call_.finish(status);
    deadline_.cancel();
    co_return;
  }
  auto const status = to_grpc(stopping_ ? shutting_down() : muster::status());
  co_await call_.finish(status);
  deadline_.cancel();
}

coro::task<muster::status> blob_get::give() {
  if (auto wrong = check_hash(asked_.sha256()); !wrong.ok()) co_return wrong;
  name_ = store_.current(asked_.sha256());
  if (!store_.size_of(name_)) co_await await_blob();
  if (stopping_) co_return shutting_down();
  auto const size = store_.size_of(name_);
  if (!size) co_return no_such_blob(asked_.sha256());
  if (asked_.offset() > *size) co_return behind_its_end(asked_.offset(), *size);
  auto giving = give_pieces(*size);
  co_return co_await std::move(giving);
}

// Polls until the blob is uploaded or can no longer be uploaded, or until the client disconnects.
coro::task<void> blob_get::await_blob() {
  deadline_.cancel();
  auto const begun = coro::timer::clock::now();
  auto request_at = begun;
  while (!disconnected_ && !stopping_) {
    name_ = store_.current(asked_.sha256());
    if (store_.size_of(name_)) break;
    bool const can_arrive = store_.can_arrive(name_);
    auto const now = coro::timer::clock::now();
    if (now >= begun + (can_arrive ? options_.patience_held : options_.patience)) break;
    if (can_arrive && now >= request_at) {
      store_.want(name_);
      request_at = now + options_.wanted_every;
    }
    co_await pause_.wait_for(options_.poll_interval);
  }
}

coro::task<muster::status> blob_get::give_pieces(std::uint64_t size) {
  on_answer_.Clear();
  on_answer_.set_size(size);
  on_answer_.set_under_name(name_ != asked_.sha256() || !store_.is_hash(name_));
  auto at = asked_.offset();
  do {
    auto take = [this](muster::result<std::string> got) {
      last_answer_ = got ? muster::status{} : got.error();
      if (got) on_answer_.set_data(std::move(*got));
      answered_.set();
    };
    store_.read(name_, at, piece_bytes, std::move(take));
    co_await await_answer();
    if (!last_answer_.ok()) co_return last_answer_;
    at += on_answer_.data().size();
    store_.holders().traffic().server += on_answer_.data().size();
    expect_client();
    bool const sent = co_await call_.write(on_answer_);
    if (!sent) co_return client_gone();
    on_answer_.clear_size();
  } while (at < size);
  co_return muster::status();
}

}  // namespace muster::server
