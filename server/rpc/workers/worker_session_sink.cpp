// What the hub has for the worker, noted down for the writer.
#include <spdlog/spdlog.h>

#include "server/rpc/status_convert.hpp"
#include "server/rpc/workers/worker_convert.hpp"
#include "server/rpc/workers/worker_session.hpp"

namespace muster::server {

void worker_session::on_welcome(core::welcome const& w) {
  task_ = std::make_shared<std::string const>(w.job + ":" + std::to_string(w.index));
  spdlog::info("worker attached task={} credits={} peer={}", *task_, w.credits,
               call_.context().peer());
  auto& welcome = *out_.tail().mutable_welcome();
  welcome.set_job(w.job);
  welcome.set_index(static_cast<std::uint32_t>(w.index));
  welcome.set_heartbeat_interval_ms(static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::milliseconds>(w.heartbeat_interval).count()));
  welcome.set_server_incarnation(options_.server_incarnation);
  welcome.set_credits(w.credits);
  welcome.set_server_version(options_.server_version);
  welcome.mutable_kept()->Add(w.kept.begin(), w.kept.end());
  welcome.set_reconnect_grace_ms(static_cast<std::uint32_t>(
      std::chrono::ceil<std::chrono::milliseconds>(w.reconnect_grace).count()));
  outstanding_ += w.kept.size();
  out_.seal();  // it comes alone
  pending_.set();
}

void worker_session::on_dispatch(std::span<core::assignment const> batch) {
  outstanding_ += batch.size();
  if (auto const now = hub_.state().connected_workers(); now != workers_told_) {
    out_.tail().set_workers(now);
    workers_told_ = now;
  }
  for (auto const& a : batch) to_wire(a, numbers_[core::raw(a.function)], out_);
  pending_.set();
}

// In the last message, so that it never overtakes its closure.
void worker_session::on_stop(core::stop_request const& s) {
  auto& last = out_.tail();
  last.add_stop_closure(core::raw(s.closure));
  last.add_stop_attempt(s.attempt);
  pending_.set();
}

void worker_session::on_drop(core::per_worker_id value) {
  out_.tail().add_drop_per_worker(core::raw(value));
  pending_.set();
}

void worker_session::on_drain() {
  out_.tail().set_drain(true);
  pending_.set();
}

void worker_session::on_disconnect(muster::status const& why, bool final) {
  attached_ = false;
  spdlog::warn("worker disconnected task={} code={} final={} reason=\"{}\"", *task_, name(why.code),
               final, why.message);
  if (ended_) return;
  if (final) call_.context().AddTrailingMetadata("muster-final", "1");
  end(to_grpc(why));
}

}  // namespace muster::server
