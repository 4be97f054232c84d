// The bytes of blobs that this process has stored, and records of the blobs that a thread refers to
// while it creates JSON. For the library only.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {
struct worker_identity;
}

namespace muster::detail {

/// Bytes of a blob. Copies of the blob, and calls that refer to it, keep the bytes alive.
/// Thread-safe.
class blob_content {
 public:
  virtual ~blob_content() = default;
  blob_content(blob_content const&) = delete;

  virtual std::string_view bytes() const = 0;
  /// Records that a call's argument refers to this blob; the call keeps the bytes alive.
  virtual void named_by_closure() const {}
  /// Records that an object of unknown lifetime refers to this blob.
  virtual void named_elsewhere() const {}
  /// Records that a call's output refers to this blob. The output is reported after this function
  /// has returned. Throws blob_error.
  virtual void named_by_output() const {}

 protected:
  blob_content() = default;
};

using blob_contents = std::vector<std::shared_ptr<blob_content const>>;

/// While this object exists, records in `into` the blobs that this thread refers to. Without a
/// blob_recording_scope, named_elsewhere() is called for these blobs.
class blob_recording_scope {
 public:
  /// `worker` is the worker whose function is running, and must outlive this object. Null keeps the
  /// current worker.
  explicit blob_recording_scope(blob_contents& into, worker_identity const* worker = nullptr)
      : before_(std::exchange(into_, &into)),
        before_worker_(std::exchange(worker_, worker ? worker : worker_)) {}
  ~blob_recording_scope() {
    into_ = before_;
    worker_ = before_worker_;
  }
  blob_recording_scope(blob_recording_scope const&) = delete;

  static void add(std::shared_ptr<blob_content const> const& named) {
    if (!into_) return named->named_elsewhere();
    named->named_by_closure();
    into_->push_back(named);
  }
  /// Returns the worker whose function this thread is running, or null.
  static worker_identity const* worker() { return worker_; }

 private:
  static thread_local blob_contents* into_;
  static thread_local worker_identity const* worker_;

  blob_contents* before_;
  worker_identity const* before_worker_;
};

}  // namespace muster::detail
