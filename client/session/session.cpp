#include "muster/session.hpp"

#include "client/session/session_stream.hpp"

namespace muster {

session::session(session_options options, outcome_handler on_outcome)
    : engine_(client_engine::shared()),
      stream_(std::make_shared<stream>(*engine_, std::move(options), std::move(on_outcome))) {
  stream_->start();
}

session::~session() {
  stream_->abandon();
}

void session::wait_open() {
  stream_->wait_open();
}
std::string session::id() const {
  return stream_->id();
}
function_number session::function(std::string_view name) {
  return stream_->function(name);
}
void session::schedule(function_number f, value_view args, std::uint64_t token) {
  stream_->schedule(f, args, token, 1, stream::when_full::wait);
}
bool session::try_schedule(function_number f, value_view args, std::uint64_t token) {
  return stream_->schedule(f, args, token, 1, stream::when_full::refuse);
}
void session::schedule_many(function_number f, value_view args, std::uint64_t first_token,
                            std::size_t count) {
  stream_->schedule(f, args, first_token, count, stream::when_full::wait);
}
void session::schedule(function_number f, value_view args, outcome_handler done) {
  stream_->schedule(f, args, std::move(done));
}
bool session::flush(std::chrono::milliseconds timeout) {
  return stream_->flush(timeout);
}
bool session::wait_all(std::chrono::milliseconds timeout) {
  return stream_->wait_all(timeout);
}
void session::cancel() {
  stream_->cancel();
}
std::string session::close(std::chrono::milliseconds timeout) {
  return stream_->close(timeout);
}
session_stats session::stats() const {
  return stream_->stats();
}

}  // namespace muster
