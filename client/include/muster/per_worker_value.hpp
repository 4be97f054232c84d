// A handle on a value that every worker with a function builds for itself and keeps.
//
//   auto rows = c.create_per_worker_value("open_dataset", "train", 32);
//   c.schedule<double>("train_step", rows);     // each worker gets its own
//
// A worker that is lost loses its component (ABORTED); its next incarnation builds it again before
// anything runs there that needs it. What the builder throws surfaces only in closures that need
// the value, as input_error naming it. A builder that returns std::shared_ptr<T> makes an object,
// which functions take as std::shared_ptr<T>; any other result is put in the argument's place as
// JSON.
//
// Copies share the value; when the last one is dropped and no unfinished closure needs it, the
// workers drop it. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace muster::detail {

class coordinator_session;

class per_worker_handle {
 public:
  per_worker_handle(std::shared_ptr<coordinator_session> session, std::uint64_t token)
      : session_(std::move(session)), token_(token) {}
  ~per_worker_handle();
  per_worker_handle(per_worker_handle const&) = delete;

  /// At the server; 0 until it has answered.
  std::uint64_t value() const;
  coordinator_session const* session() const { return session_.get(); }
  std::uint64_t token() const { return token_; }

 private:
  std::shared_ptr<coordinator_session> session_;
  std::uint64_t token_;
};

}  // namespace muster::detail

namespace muster {

class per_worker_value {
 public:
  /// Of nothing; it cannot be an argument.
  per_worker_value() = default;
  explicit per_worker_value(std::shared_ptr<detail::per_worker_handle const> handle)
      : handle_(std::move(handle)) {}

  bool valid() const noexcept { return handle_ != nullptr; }
  /// "pw_…", by which REST shows what became of it on each worker.
  std::string id() const;
  /// Drops this copy.
  void release() noexcept { handle_.reset(); }

  std::shared_ptr<detail::per_worker_handle const> const& shared() const { return handle_; }

 private:
  std::shared_ptr<detail::per_worker_handle const> handle_;
};

}  // namespace muster
