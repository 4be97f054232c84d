// The bytes of blobs that were put here, and which of them a thread names while it makes JSON. For
// the library only.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {
struct worker_identity;
}

namespace muster::detail {

/// Goes with the last copy of its blob, and with the last closure that names it. Any thread.
class blob_content {
 public:
  virtual ~blob_content() = default;
  blob_content(blob_content const&) = delete;

  virtual std::string_view bytes() const = 0;
  /// By an argument of a closure, which keeps it.
  virtual void named_by_closure() const {}
  /// By something whose end nobody here sees.
  virtual void named_elsewhere() const {}
  /// By the output of a closure, which is not told before this returns. Errors: blob_error.
  virtual void named_by_output() const {}

 protected:
  blob_content() = default;
};

using blob_contents = std::vector<std::shared_ptr<blob_content const>>;

/// For as long as it lives, what this thread names goes into `into`. What a thread names without
/// one is named elsewhere.
class contents_here {
 public:
  /// `worker`: whose function runs, which outlives this; null: as before.
  explicit contents_here(blob_contents& into, worker_identity const* worker = nullptr)
      : before_(std::exchange(into_, &into)),
        before_worker_(std::exchange(worker_, worker ? worker : worker_)) {}
  ~contents_here() {
    into_ = before_;
    worker_ = before_worker_;
  }
  contents_here(contents_here const&) = delete;

  static void add(std::shared_ptr<blob_content const> const& named) {
    if (!into_) return named->named_elsewhere();
    named->named_by_closure();
    into_->push_back(named);
  }
  /// Null: this thread runs no function of a worker.
  static worker_identity const* worker() { return worker_; }

 private:
  static thread_local blob_contents* into_;
  static thread_local worker_identity const* worker_;

  blob_contents* before_;
  worker_identity const* before_worker_;
};

}  // namespace muster::detail
