// Stream of a process that holds large values in its memory. The server requests uploads and
// reports values that are no longer needed. Created by the call's handler; used only on the engine
// thread.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "muster/v1/blobs.pb.h"
#include "server/hub/blob_store.hpp"
#include "server/rpc/message_stream.hpp"

namespace muster::server {

class gate;

muster::status check_host(std::string const& host);

class hold_stream final : public message_stream<v1::HoldRequest, v1::HoldResponse>,
                          public holder_sink {
 public:
  /// @param who Authenticates the caller. If null, all callers have all permissions.
  hold_stream(call& c, blob_store& store, gate const* who);
  ~hold_stream();

  /// Completes when the call has finished and the process's values are unregistered.
  [[nodiscard]] coro::task<void> run();
  void shut_down();

  void on_upload_requested(std::string_view name) override;
  bool on_ticket(std::string_view ticket, std::string_view name) override;
  void on_released(std::string_view name) override;

 private:
  /// Maximum number of names and tickets that wait to be written. At the limit, no ticket is
  /// issued.
  static constexpr std::size_t waiting_max = 10'000;

  // The output is bounded by the number of values that the process holds: each value is listed at
  // most once as wanted and once as unneeded.
  muster::status take(v1::HoldRequest const& message) override;
  void refused(muster::status const&) override {}
  void input_ended() override { end(grpc::Status::OK); }
  void before_write() override;

  muster::status take_first(v1::HoldRequest const& message);
  muster::status take_names(v1::HoldRequest const& message);
  void take_copy(std::string const& name, std::uint64_t size);
  bool may_work() const;
  v1::HoldResponse& next();

  blob_store& store_;
  gate const* const who_;
  core::holder_id id_ = 0;
  std::set<std::string> waiting_;  // wanted names that have not been written to the stream
};

}  // namespace muster::server
