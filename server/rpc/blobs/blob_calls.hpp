// One call of muster.v1.BlobService that puts a blob, and one that gets some. Each lives in the
// frame of its handler; engine thread only. Pieces are awaited one by one, so a call has at most
// one of them in memory besides what gRPC has.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>

#include <string>

#include "coro/event.hpp"
#include "coro/server_bidi.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/blobs.pb.h"
#include "server/hub/blob_store.hpp"

namespace muster::server {

struct blob_call_options {
  /// A call whose client neither sends nor takes anything for so long is cut.
  std::chrono::milliseconds silence_max{60'000};
  /// A blob that is not there is waited for.
  std::chrono::milliseconds patience{30'000};
  std::chrono::milliseconds looked_every{50};
  /// Calls at one time. More: RESOURCE_EXHAUSTED.
  std::size_t calls_max = 1'000;
};

/// What both have in common: a deadline, and an end that comes from outside.
class blob_call {
 public:
  void shut_down();

 protected:
  template <class Call>
  blob_call(Call& c, blob_store& store, blob_call_options const& options)
      : store_(store),
        options_(options),
        cancel_([&c] { c.cancel(); }),
        answered_(c.engine()),
        pause_(c.engine()),
        deadline_(c.engine()) {}
  ~blob_call() = default;

  /// Something is awaited of the client.
  void expect_client();
  /// For the answers of the store: awaits this after it was asked with answer().
  [[nodiscard]] coro::task<void> answer_came();
  blob_store::done answer();

  blob_store& store_;
  blob_call_options const& options_;
  std::function<void()> const cancel_;
  coro::event answered_;
  coro::timer pause_;
  coro::timer deadline_;
  muster::status said_;  // the last answer
  bool stopping_ = false;
};

class blob_put final : public blob_call {
 public:
  using call = coro::server_bidi<v1::PutBlob, v1::BlobThere>;
  blob_put(call& c, blob_store& store, blob_call_options const& options)
      : blob_call(c, store, options), call_(c) {}
  [[nodiscard]] coro::task<void> run();

 private:
  [[nodiscard]] coro::task<muster::status> take();
  [[nodiscard]] coro::task<muster::status> take_pieces(blob_store::upload_id id,
                                                       std::uint64_t size);

  call& call_;
  v1::PutBlob message_;
  v1::BlobThere told_;
};

class blob_get final : public blob_call {
 public:
  using call = coro::server_bidi<v1::GetBlob, v1::BlobPiece>;
  blob_get(call& c, blob_store& store, blob_call_options const& options)
      : blob_call(c, store, options), call_(c) {}
  [[nodiscard]] coro::task<void> run();

 private:
  [[nodiscard]] coro::task<muster::status> give();
  [[nodiscard]] coro::task<void> await_blob();
  [[nodiscard]] coro::task<muster::status> give_pieces(std::uint64_t size);

  call& call_;
  v1::GetBlob asked_;
  v1::BlobPiece piece_;
  bool gone_ = false;
};

}  // namespace muster::server
