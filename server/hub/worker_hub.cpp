#include "server/hub/worker_hub.hpp"

#include <algorithm>
#include <utility>

#include "server/core/programs/controller.hpp"

namespace muster::server {

core::stream_id worker_hub::attach(worker_sink& sink) {
  auto const stream = core::stream_id{++last_stream_};
  sinks_.emplace(stream, &sink);
  return stream;
}

void worker_hub::detach(core::stream_id stream) {
  sinks_.erase(stream);
  logs_.forget_worker(stream);
  lines_.forget_worker(stream);
  stacks_.forget_worker(stream);
  task_stacks_.forget_worker(stream);
}

worker_sink* worker_hub::sink(core::stream_id stream) const {
  auto const it = sinks_.find(stream);
  return it == sinks_.end() ? nullptr : it->second;
}

void worker_hub::disconnect_all(muster::status const& why) {
  for (auto const& [stream, sink] : std::exchange(sinks_, {})) sink->on_disconnect(why, true);
}

void worker_hub::deliver(core::effects const& fx) const {
  for (auto const& w : fx.welcomes) send(w.stream, &closure_sink::on_welcome, w);
  for (auto const& d : fx.dispatches)
    if (auto* const to = sink(d.stream))
      to->on_dispatch(std::span(fx.assignments).subspan(d.first, d.count));
  for (auto const& s : fx.stop_requests) send(s.stream, &closure_sink::on_stop, s);
  for (auto const& r : fx.retractions) send(r.stream, &closure_sink::on_retract, r);
  for (auto const& d : fx.drop_requests)
    if (auto* const to = sink(d.stream)) to->on_drop(d.value);
  for (auto const& d : fx.drain_requests)
    if (auto* const to = sink(d.stream)) to->on_drain();
}

std::string const* worker_hub::name(core::stream_id stream) const {
  auto const it = names_.find(stream);
  return it == names_.end() ? nullptr : &it->second;
}

std::string worker_hub::remove_name(core::stream_id stream) {
  auto node = names_.extract(stream);
  return node ? std::move(node.mapped()) : std::string();
}

core::stream_id worker_hub::stream_of(core::rank_name const& rank) const {
  auto const stream = core_.programs().worker_of(rank);
  return stream ? *stream : core::stream_id{};
}

void worker_hub::read_log(rank_log_query query, rank_logs::handler done) {
  auto const stream = core_.programs().worker_of(query.rank);
  if (!stream) return done(stream.error());
  auto* const worker = sink(*stream);
  if (!worker)
    return done(muster::status{code::unavailable, "the rank's worker is disconnected; try again"});
  query.number = logs_.expect(*stream, std::move(done));
  if (query.number != 0) worker->on_log_query(query);
}

void worker_hub::refresh_lines(core::time_point now, last_lines::attempt const& of,
                               std::function<void()> done) {
  auto const find = [&](std::uint32_t rank) { return stream_of({of.program, of.number, rank}); };
  auto const ask = [this](core::stream_id stream, last_lines_query const& q) {
    return send(stream, &rank_sink::on_lines_query, q);
  };
  lines_.refresh(now, of, find, ask, std::move(done));
}

std::uint64_t worker_hub::begin_stacks(stacks_query const& of) {
  auto const find = [&](std::uint32_t rank) { return stream_of({of.program, of.attempt, rank}); };
  auto const ask = [this](core::stream_id stream, stacks_query const& q) {
    return send(stream, &rank_sink::on_stacks_query, q);
  };
  return stacks_.begin(of, find, ask);
}

std::uint64_t worker_hub::read_stack(std::string_view task,
                                     worker_questions<task_stack>::handler done) {
  auto const it = std::find_if(names_.begin(), names_.end(),
                               [task](auto const& n) { return n.second == task; });
  auto* const worker = it == names_.end() ? nullptr : sink(it->first);
  if (!worker) {
    done(muster::status{code::not_found, "worker " + std::string(task) + " is not connected"});
    return 0;
  }
  auto const number = task_stacks_.expect(it->first, std::move(done));
  if (number != 0) worker->on_stack_query(number);
  return number;
}

}  // namespace muster::server
