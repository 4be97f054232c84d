// The generation that a coordinator's closures belong to. An error or a cancel makes the server
// drain it, and the next one begins; the error is raised once, after that.
//
//   settled ──an error, or cancel()──► draining ──drained──► settled, one further
//
// Owned by the coordinator_session, under its mutex.
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
  /// Cancelled by the user and not drained.
  bool cancelling() const { return cancelling_; }
  /// An error is to be raised.
  bool failed() const { return error_.has_value(); }
  /// Of this generation, or of the newest that failed.
  std::vector<failure> const& failures() const { return failures_; }

  void cancel() { draining_ = cancelling_ = true; }

  /// What the server says; again on another stream, it is ignored.
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
  /// Nothing is left, whatever the server would have said.
  void settle() {
    draining_ = cancelling_ = false;
    if (first_error_ && !error_) error_ = std::move(first_error_);
    first_error_.reset();
  }
  /// A closure has failed. At most the first thousand are kept; cancelled ones are not.
  void note(failure const& f) {
    if (f.kind == failure_kind::cancelled) return;
    if (std::exchange(failures_of_, number_) != number_) failures_.clear();
    if (failures_.size() < failures_max) failures_.push_back(f);
  }
  /// Throws the error if there is one, once.
  void raise_error() {
    if (auto error = std::exchange(error_, {})) raise(std::move(*error));
  }

 private:
  static constexpr std::size_t failures_max = 1'000;

  std::uint32_t number_ = 1;
  bool draining_ = false;
  bool cancelling_ = false;
  std::optional<failure> first_error_;  // until it has drained
  std::optional<failure> error_;        // to be raised
  std::vector<failure> failures_;
  std::uint32_t failures_of_ = 1;
};

}  // namespace muster::detail
