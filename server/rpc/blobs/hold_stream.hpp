// One process that holds large values in its own memory: what it says it has in, what it is to put
// or to drop out. Lives in the frame of its call's handler; engine thread only.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "muster/v1/blobs.pb.h"
#include "server/hub/blob_store.hpp"
#include "server/rpc/message_stream.hpp"

namespace muster::server {

class gate;

/// HoldRequest.host and LocateRequest.host have a limit.
muster::status check_host(std::string const& host);

class hold_stream final : public message_stream<v1::HoldRequest, v1::HoldResponse>,
                          public holder_sink {
 public:
  /// `who`: knows who calls; null: everybody may do all.
  hold_stream(call& c, blob_store& store, gate const* who);
  ~hold_stream();

  /// Completion: the call is finished, and what was held is not known any more.
  [[nodiscard]] coro::task<void> run();
  /// Ends the stream with UNAVAILABLE.
  void shut_down();

  // holder_sink
  void on_wanted(std::string_view name) override;
  bool on_ticket(std::string_view ticket, std::string_view name) override;
  void on_unneeded(std::string_view name) override;

 private:
  /// Names and tickets that wait to be written. More: no ticket is given.
  static constexpr std::size_t waiting_max = 10'000;

  // message_stream. What waits to be written are names that are held, each at most once as wanted
  // and once as unneeded.
  muster::status take(v1::HoldRequest const& message) override;
  void refused(muster::status const&) override {}
  void input_ended() override { end(grpc::Status::OK); }
  void before_write() override;

  muster::status take_first(v1::HoldRequest const& message);
  muster::status take_names(v1::HoldRequest const& message);
  void take_copy(std::string const& name, std::uint64_t size);
  bool may_work() const;
  /// For one more name.
  v1::HoldResponse& next();

  blob_store& store_;
  gate const* const who_;
  core::holder_id id_ = 0;         // once it has greeted
  std::set<std::string> waiting_;  // wanted, and not written yet
};

}  // namespace muster::server
