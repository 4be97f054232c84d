#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "client/coordinator/coordinator_session.hpp"
#include "client/log_line.hpp"
#include "muster/checkpoints.hpp"

namespace muster {
namespace detail {

coordinator_session::quiet::quiet(coordinator_session& of) : of_(of) {
  lock held(of_.mutex_);
  ++of_.held_;
}

coordinator_session::quiet::~quiet() {
  lock held(of_.mutex_);
  --of_.held_;
  of_.changed(held);
}

bool coordinator_session::quiet::wait(milliseconds timeout, std::atomic<bool> const& given_up) {
  auto& s = of_;
  lock held(s.mutex_);
  auto const is_over = [&] {
    return s.ended_ || given_up ||
           (s.generation_.settled() && (s.generation_.failed() || s.unfinished_ == 0));
  };
  if (!s.changed_.wait_for(held, timeout, is_over))
    throw wait_timeout(std::to_string(s.unfinished_) +
                       (s.unfinished_ == 1 ? " closure" : " closures") +
                       " that the checkpoint waits for did not finish within " + in_ms(timeout));
  return !s.ended_ && !s.closing_ && !given_up && !s.generation_.failed();
}

bool coordinator_session::wait_until_ended_or_stopped(milliseconds timeout,
                                                      std::atomic<bool> const& stopped) {
  lock held(mutex_);
  return changed_.wait_for(held, timeout, [&] { return ended_ || closing_ || stopped; });
}

void coordinator_session::notify() {
  lock held(mutex_);
  changed_.notify_all();
}

void coordinator_session::tell(std::exception_ptr error) {
  lock held(mutex_);
  pending_error_ = std::move(error);
}

bool coordinator_session::withdraw_pending_error(std::exception_ptr const& error) {
  lock held(mutex_);
  bool const pending = pending_error_ == error;
  if (pending) pending_error_ = nullptr;
  return pending;
}

void coordinator_session::throw_pending_error() {
  lock held(mutex_);
  raise_pending();
}

}  // namespace detail

using detail::coordinator_session;

static std::atomic<bool> const never = false;

std::uint64_t cluster_coordinator::save(std::string const& path, checkpoint_options const& o) {
  refuse_to_wait_for_itself();
  std::optional<coordinator_session::quiet> quiet;
  if (o.quiesce) {
    quiet.emplace(*session_);
    if (!quiet->wait(o.timeout, never)) session_->throw_pending_error();
  }
  return session_->known().save(path, o.keep);
}

std::optional<std::uint64_t> cluster_coordinator::restore(std::string const& path) {
  refuse_to_wait_for_itself();
  return session_->known().restore(path);
}

class periodic_checkpoints::impl {
 public:
  impl(std::shared_ptr<coordinator_session> s, std::string path, std::chrono::milliseconds every,
       checkpoint_options const& o)
      : session_(std::move(s)), path_(std::move(path)), every_(every), options_(o) {
    if (every.count() <= 0 || every > detail::for_ever)
      throw std::invalid_argument("every: " + in_ms(every) + ", must be positive and at most " +
                                  in_ms(detail::for_ever));
    if (o.keep == 0u) throw std::invalid_argument("keep: 0, must be at least 1");
    thread_ = std::thread([this] { run(); });
  }
  ~impl() { stop(); }

  std::uint64_t last() const { return last_; }
  void stop() {
    stopped_ = true;
    session_->notify();
    if (thread_.joinable()) thread_.join();
  }
  void raise() {
    if (error_ && session_->withdraw_pending_error(error_)) std::rethrow_exception(error_);
  }

 private:
  void run() {
    while (!session_->wait_until_ended_or_stopped(every_, stopped_)) try {
        save();
      } catch (unavailable_error const& e) {
        log(log_level::warning, std::string("no checkpoint was saved: ") + e.what());
        // A lost task is also reported by schedule, join and done.
      } catch (std::exception const& e) {
        log(log_level::warning, std::string("no checkpoint was saved: ") + e.what());
        error_ = std::current_exception();
        session_->tell(error_);
      }
  }
  void save() {
    std::optional<coordinator_session::quiet> quiet;
    if (options_.quiesce) {
      quiet.emplace(*session_);
      if (!quiet->wait(options_.timeout, stopped_)) return;
    }
    auto const made = session_->known().save_unless_restarted(path_, options_.keep);
    if (made)
      last_ = *made;
    else if (!waits_for_restore_)
      log(log_level::warning,
          "no checkpoint is saved until restore() has been called; lost or recreated state would "
          "replace the saved state");
    waits_for_restore_ = !made;
  }

  std::shared_ptr<coordinator_session> const session_;
  std::string const path_;
  std::chrono::milliseconds const every_;
  checkpoint_options const options_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> last_ = 0;
  std::exception_ptr error_;        // set by the thread, and read after the thread has ended
  bool waits_for_restore_ = false;  // whether the warning was logged; used only by the thread
  std::thread thread_;
};

periodic_checkpoints cluster_coordinator::checkpoints(std::string const& path, milliseconds every,
                                                      checkpoint_options const& o) {
  return periodic_checkpoints(
      std::make_unique<periodic_checkpoints::impl>(session_, path, every, o));
}

periodic_checkpoints::periodic_checkpoints(std::unique_ptr<impl> made) : impl_(std::move(made)) {}
periodic_checkpoints::periodic_checkpoints(periodic_checkpoints&&) noexcept = default;
periodic_checkpoints::~periodic_checkpoints() = default;

std::optional<std::uint64_t> periodic_checkpoints::last() const {
  auto const number = impl_->last();
  return number == 0 ? std::nullopt : std::optional(number);
}

void periodic_checkpoints::stop() {
  impl_->stop();
  impl_->raise();
}

}  // namespace muster
