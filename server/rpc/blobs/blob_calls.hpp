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

class gate;

struct blob_call_options {
  /// A call whose client neither sends nor takes anything for so long is cut.
  std::chrono::milliseconds silence_max{60'000};
  /// A blob that is not there is waited for; so long where somebody holds it or makes it again.
  std::chrono::milliseconds patience{30'000};
  std::chrono::milliseconds patience_held{600'000};
  /// Who holds it is asked again.
  std::chrono::milliseconds wanted_every{5'000};
  std::chrono::milliseconds looked_every{50};
  /// Calls at one time. More: RESOURCE_EXHAUSTED.
  std::size_t calls_max = 1'000;
};

/// What both have in common: a deadline, and an end that comes from outside.
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

  /// Something is awaited of the client.
  void expect_client() {
    deadline_.call_at(coro::timer::clock::now() + options_.silence_max, [this] { call_.cancel(); });
  }
  blob_store::done answer() {
    return [this](muster::status s) {
      said_ = std::move(s);
      answered_.set();
    };
  }
  /// For the answers of the store: awaits this after it was asked with answer().
  [[nodiscard]] coro::task<void> await_answer() {
    deadline_.cancel();
    co_await answered_.wait();  // no deadline: the store answers, also when it ends
  }

  call& call_;
  blob_store& store_;
  blob_call_options const& options_;
  coro::event answered_;
  coro::timer pause_;
  coro::timer deadline_;
  Asked asked_;
  Told told_;
  muster::status said_;  // the last answer of the store
  bool stopping_ = false;
};

class blob_put final : public blob_call<v1::PutBlob, v1::BlobThere> {
 public:
  /// @param who judges whose blob it is; null: nobody is asked.
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

  bool gone_ = false;
  std::string name_;  // what stands for what was asked for
};

}  // namespace muster::server
