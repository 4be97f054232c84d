// The object caller of the function or method that a worker thread executes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "muster/remote_object.hpp"

namespace muster::detail {

struct call_name {
  std::uint64_t caller = 0;
  bool of_worker = false;
  std::uint64_t number = 0;

  auto operator<=>(call_name const&) const = default;
};

/// While this object exists, handles that this thread reads use `caller`. `within` is the executing
/// method call, or null for a function.
class object_caller_scope {
 public:
  object_caller_scope(std::shared_ptr<object_caller> caller, call_name const* within)
      : before_(std::exchange(caller_, std::move(caller))),
        before_within_(std::exchange(within_, within)) {}
  ~object_caller_scope() {
    caller_ = std::move(before_);
    within_ = before_within_;
  }
  object_caller_scope(object_caller_scope const&) = delete;

  static std::shared_ptr<object_caller> const& caller() { return caller_; }
  static call_name const* within() { return within_; }

 private:
  static thread_local std::shared_ptr<object_caller> caller_;
  static thread_local call_name const* within_;

  std::shared_ptr<object_caller> before_;
  call_name const* before_within_;
};

}  // namespace muster::detail
