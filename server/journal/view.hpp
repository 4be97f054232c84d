// A store as it is at one moment, for people who look after it: only read, beside the server that
// has it, too. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "server/journal/store.hpp"

namespace muster::server::journal {

class view : public store {
 public:
  /// For people: a directory, or the address of a prefix in etcd.
  virtual std::string name() const = 0;
  /// What is unusual and no damage, a line each.
  virtual std::vector<std::string> const& notes() const = 0;
  /// What the store itself can say of damage. INTERNAL names it.
  virtual muster::status verify() const { return {}; }

  /// Refused.
  muster::status write(std::vector<change> const&) override {
    return {code::failed_precondition, name() + ": is only read"};
  }
};

}  // namespace muster::server::journal
