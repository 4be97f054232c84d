// Read-only snapshot of a store for maintenance tools, with or without a running server. Used by
// one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "server/journal/store.hpp"

namespace muster::server::journal {

class view : public store {
 public:
  /// Returns a name for messages: a directory, or the address of a prefix in etcd.
  virtual std::string name() const = 0;
  virtual std::vector<std::string> const& notes() const = 0;
  /// Checks for damage. The message of the INTERNAL error describes the damage.
  virtual muster::status verify() const { return {}; }

  muster::status write(std::vector<change> const&) override {
    return {code::failed_precondition, name() + ": is open for reading only"};
  }
};

}  // namespace muster::server::journal
