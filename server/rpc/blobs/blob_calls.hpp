// Calls of muster.v1.BlobService that upload or download blobs. Created by their handlers; used
// only on the engine thread. Apart from gRPC's buffers, a call buffers at most one chunk.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>

#include "coro/event.hpp"
#include "coro/server_bidi.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/blobs.pb.h"
#include "server/hub/blob_store.hpp"

namespace muster::server {

class gate;

struct blob_call_options {
  /// A call is cancelled if its client sends and receives nothing for this time.
  std::chrono::milliseconds silence_max{60'000};
  /// How long a download waits for a missing blob. `patience_held` applies if a process holds the
  /// blob or the closure that creates it runs again.
  std::chrono::milliseconds patience{30'000};
  std::chrono::milliseconds patience_held{600'000};
  /// Polling interval, and interval at which the server asks the holder for an upload.
  std::chrono::milliseconds wanted_every{5'000};
  std::chrono::milliseconds poll_interval{50};
  /// Maximum number of concurrent calls. At the limit, calls fail with RESOURCE_EXHAUSTED.
  std::size_t calls_max = 1'000;
};

template <class Asked, class Told>
class blob_call {
 public:
  using call = coro::server_bidi<Asked, Told>;
  blob_call(call& c, blob_store& store, blob_call_options const& options)
      : call_(c),
        store_(store),
        options_(options),
        answered_(c.engine()),
        pause_(c.engine()),
        deadline_(c.engine()) {}
  blob_call(blob_call const&) = delete;

  void shut_down() {
    stopping_ = true;
    call_.cancel();
  }

 protected:
  ~blob_call() = default;

  /// Starts the deadline. Called before waiting for the client.
  void expect_client() {
    deadline_.call_at(coro::timer::clock::now() + options_.silence_max, [this] { call_.cancel(); });
  }
  blob_store::done answer() {
    return [this](muster::status s) {
      last_answer_ = std::move(s);
      answered_.set();
    };
  }
  [[nodiscard]] coro::task<void> await_answer() {
    deadline_.cancel();
    // No deadline is needed, because the store always answers, even when it is stopped.
    co_await answered_.wait();
  }

  call& call_;
  blob_store& store_;
  blob_call_options const& options_;
  coro::event answered_;
  coro::timer pause_;
  coro::timer deadline_;
  Asked asked_;
  Told on_answer_;
  muster::status last_answer_;
  bool stopping_ = false;
};

class blob_put final : public blob_call<v1::PutBlob, v1::BlobThere> {
 public:
  /// @param who Authenticates the uploader. Null disables authentication.
  blob_put(call& c, blob_store& store, blob_call_options const& options, gate const* who)
      : blob_call(c, store, options), who_(who) {}
  [[nodiscard]] coro::task<void> run();

 private:
  gate const* const who_;
  [[nodiscard]] coro::task<muster::status> take();
  muster::status check_first() const;
  [[nodiscard]] coro::task<muster::status> take_pieces(blob_store::upload_id id,
                                                       std::uint64_t size);
};

class blob_get final : public blob_call<v1::GetBlob, v1::BlobPiece> {
 public:
  using blob_call::blob_call;
  [[nodiscard]] coro::task<void> run();

 private:
  [[nodiscard]] coro::task<muster::status> give();
  [[nodiscard]] coro::task<void> await_blob();
  [[nodiscard]] coro::task<muster::status> give_pieces(std::uint64_t size);

  bool disconnected_ = false;
  std::string name_;
};

}  // namespace muster::server
