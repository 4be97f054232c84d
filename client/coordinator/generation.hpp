// The generation of a coordinator's scheduled calls. After an error or a cancellation, the server
// drains the generation, and the next generation begins. The error is then thrown once. States:
//
//     settled ──error or cancel()──► draining ──drained──► settled (next generation)
//
// Protected by the coordinator_session's mutex.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "client/wire.hpp"
#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

class generation {
 public:
  std::uint32_t number() const { return number_; }
  bool settled() const { return !draining_; }
  /// Returns true if the user has cancelled the generation and it has not drained yet.
  bool cancelling() const { return cancelling_; }
  bool failed() const { return error_.has_value(); }
  /// Returns the errors of this generation or, if there are no errors, of the newest generation
  /// that failed.
  std::vector<failure> const& failures() const { return failures_; }

  void cancel() { draining_ = cancelling_ = true; }

  void take(v1::Notice const& n) {
    if (n.generation() < number_) return;
    if (n.kind() == v1::Notice::FAILED) {
      draining_ = true;
      if (!first_error_) first_error_ = from_wire(n.failure());
      return;
    }
    number_ = n.generation() + 1;
    settle();
  }
  /// Called when the generation has no unfinished calls.
  void settle() {
    draining_ = cancelling_ = false;
    if (first_error_ && !error_) error_ = std::move(first_error_);
    first_error_.reset();
  }
  /// Records a failure. Ignores cancelled calls, and failures after the first 1,000.
  void note(failure const& f) {
    if (f.kind == failure_kind::cancelled) return;
    if (std::exchange(failures_of_, number_) != number_) failures_.clear();
    if (failures_.size() < failures_max) failures_.push_back(f);
  }
  void raise_error() {
    if (auto error = std::exchange(error_, {})) raise(std::move(*error));
  }

 private:
  static constexpr std::size_t failures_max = 1'000;

  std::uint32_t number_ = 1;
  bool draining_ = false;
  bool cancelling_ = false;
  std::optional<failure> first_error_;  // first error, kept until the generation has drained
  std::optional<failure> error_;        // error to throw once
  std::vector<failure> failures_;
  std::uint32_t failures_of_ = 1;
};

}  // namespace muster::detail
