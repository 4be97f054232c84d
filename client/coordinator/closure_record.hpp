// What a coordinator_session keeps of a closure and of a PerWorkerValue, and how they are written
// into a message, the first time or again after a broken stream. Owned by the session, under its
// mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/session/waiting.hpp"
#include "muster/detail/value_handle.hpp"
#include "muster/v1/coordinator.pb.h"

namespace muster::detail {

/// A PerWorkerValue that a closure names. Token 0: it is another coordinator's.
struct built_use {
  std::uint64_t token = 0;
  std::uint64_t value = 0;
};

struct closure_record {
  // To schedule it (again); empty once it has ended.
  std::uint32_t function = 0;
  std::string args;
  muster::encoding encoding = muster::encoding::json;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> inputs;   // offset, token
  std::vector<std::pair<std::uint32_t, std::uint64_t>> foreign;  // offset, closure id
  std::vector<built_use> per_worker;
  std::shared_ptr<closure_options const> options;
  std::uint64_t gang = 0;  // the first member's token
  std::uint32_t generation = 0;
  // Its output.
  bool ended = false;
  value output;
  std::unique_ptr<failure> error;
  std::uint64_t closure = 0;  // at the server
  // Who needs it: a handle, and closures that have not ended and use it.
  std::uint32_t references = 0;
  std::vector<std::shared_ptr<waiting>> waiters;
};

struct built_record {
  std::uint32_t function = 0;
  std::string args;
  std::uint64_t value = 0;         // at the server, once it has answered
  std::unique_ptr<failure> error;  // it refused
  std::uint32_t references = 1;    // a handle, and closures that have not ended
  bool answered() const { return value != 0 || error; }
};

/// Writes closures into messages. Options that are the same as those before them in the message are
/// written once.
class closure_writer {
 public:
  /// REQUIRES: what is written next goes into the same message or a fresh one.
  void write(v1::SessionRequest& m, std::uint64_t token, closure_record const& r);
  /// About what an entry takes in the message.
  static std::size_t bytes_of(closure_record const& r);

 private:
  void write_options(v1::SessionRequest& m, closure_record const& r, int position);

  closure_options last_options_;
  std::uint64_t last_gang_ = 0;
};

}  // namespace muster::detail
