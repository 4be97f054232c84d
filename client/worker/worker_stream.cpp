// The life cycle of the stream; worker_stream_messages.cpp processes the messages.
#include "client/worker/worker_stream.hpp"

#include <utility>

#include "base/check.hpp"
#include "client/log_line.hpp"
#include "proto/byte_buffer.hpp"

namespace muster {
namespace {

using steady = std::chrono::steady_clock;

constexpr auto final_acknowledgement_timeout = std::chrono::seconds(5);
constexpr auto rank_check_interval = std::chrono::seconds(1);

// Returns true if the server would reject the same Hello again.
bool is_permanent(grpc::StatusCode code) {
  return code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::UNAUTHENTICATED ||
         code == grpc::StatusCode::PERMISSION_DENIED;
}

}  // namespace

worker_stream::worker_stream(resources of_worker, std::string server, hosted_objects& objects,
                             rank_side* ranks)
    : worker_(of_worker),
      server_(std::move(server)),
      objects_(objects),
      ranks_(ranks),
      stream_(worker_.engine, server_, worker_.options.tls, worker_.options.token,
              "/muster.v1.WorkerService/Attach", *this),
      deadline_(worker_.engine.context()),
      beats_(worker_.engine.context()),
      starts_(worker_.engine.context()),
      progress_(worker_.engine.context()) {}

coro::task<stream_end> worker_stream::run() {
  deadline_.call_at(steady::now() + worker_.options.connect_timeout, [this] { stream_.cancel(); });
  worker_.reports.open();
  auto const status = co_await stream_.run();
  worker_.held.drop_unstarted();
  co_return ending(status);
}

stream_end worker_stream::ending(grpc::Status const& status) {
  stream_end end;
  end.welcomed = identity_ != nullptr;
  end.left = leaving_ && status.ok();
  auto const& trailers = stream_.context().GetServerTrailingMetadata();
  end.final = trailers.find("muster-final") != trailers.end() ||
              (!end.welcomed && is_permanent(status.error_code()));
  end.no_cluster = !end.welcomed && status.error_code() == grpc::StatusCode::NOT_FOUND;
  if (auto const& violation = stream_.violation(); !violation.empty())
    end.reason = "the server violated the protocol: " + violation;
  else if (!status.ok())
    end.reason = status.error_message();
  else
    end.reason = end.left ? "left" : "the server ended the stream";
  end.hold = hold_;
  if (end.welcomed) end.attached_for = steady::now() - welcomed_at_;
  return end;
}

void worker_stream::input_ended() {
  input_ended_ = true;
  beats_.cancel();
  starts_.cancel();
  progress_.cancel();
}

void worker_stream::leave() {
  if (std::exchange(leave_asked_, true)) return;
  if (!identity_ && !greeted_) return stream_.cancel();  // the server does not know this worker yet
  out_.tail().set_drain(true);
  stream_.wake();
  begin_leaving();
}

void worker_stream::begin_leaving() {
  if (ranks_) ranks_until_ = std::max(ranks_until_, steady::now() + ranks_->leave());
  if (!deadline_.pending()) limit_leaving();
}

void worker_stream::limit_leaving() {
  deadline_.call_at(steady::now() + worker_.options.drain_timeout, [this] { give_back(); });
}

// Lets closures run until the ranks have exited, because the worker cannot leave earlier.
void worker_stream::give_back() {
  auto const now = steady::now();
  if (ranks_ && !ranks_->settled() && now < ranks_until_) {
    deadline_.call_at(std::min(ranks_until_, now + rank_check_interval), [this] { give_back(); });
    return;
  }
  if (!worker_.held.empty())
    log(log_level::warning,
        "returning the closures that did not finish within the drain timeout: " +
            std::to_string(worker_.held.size()));
  leaving_ = true;
  worker_.held.drop_all();
  if (ranks_) ranks_->kill();
  stream_.wake();
}

worker_stream::next worker_stream::next_message(grpc::ByteBuffer& to) {
  if (out_.empty() && identity_ && ranks_ && ranks_->reports()) out_.tail();
  bool const objects_first = std::exchange(send_objects_first_, true) || out_.empty();
  if (objects_first && identity_ && objects_.reports()) {
    send_objects_first_ = false;
    v1::WorkerMessage of_objects;
    objects_.report(of_objects);
    check(proto::encode(of_objects, to), "a message must not exceed its limits");
    written_at_ = steady::now();
    return next::message;
  }
  if (!out_.empty()) {
    auto oldest = out_.take_front();
    if (identity_ && ranks_) ranks_->report(oldest->message);
    check(proto::encode(oldest->message, to), "a message must not exceed its limits");
    worker_.reports.sent(oldest->message);
    out_.recycle(std::move(oldest));
    written_at_ = steady::now();
    greeted_ = true;  // the server can receive Hello before the write completes
    return next::message;
  }
  if (!leaving_ || !is_drained()) return next::nothing;
  if (worker_.held.has_unacknowledged_answers() &&
      !std::exchange(awaiting_final_acknowledgement_, true))
    deadline_.call_at(steady::now() + final_acknowledgement_timeout, [this] {
      worker_.held.forget_answers();
      stream_.wake();
    });
  if (worker_.held.has_unacknowledged_answers()) return next::nothing;
  deadline_.call_at(steady::now() + final_acknowledgement_timeout, [this] { stream_.cancel(); });
  return next::half_close;
}

void worker_stream::beat() {
  auto const due = written_at_ + beat_interval_;
  if (steady::now() >= due) {
    out_.tail();  // an empty message is a heartbeat
    stream_.wake();
  }
  beats_.call_at(std::max(due, steady::now() + beat_interval_ / 2), [this] { beat(); });
}

}  // namespace muster
