// Read-only wrapper of a store. Writes are dropped and return OK.
#pragma once

#include <memory>
#include <utility>

#include "server/journal/store.hpp"

namespace muster::server::journal {

class read_only_store final : public store {
 public:
  explicit read_only_store(std::unique_ptr<store> looked_at) : source_(std::move(looked_at)) {}

  muster::status write(std::vector<change> const&) override { return {}; }
  muster::status read(std::string_view prefix, visitor const& v) const override {
    return source_->read(prefix, v);
  }
  std::uint64_t bytes_on_disk() const override { return source_->bytes_on_disk(); }

 private:
  std::unique_ptr<store> const source_;
};

}  // namespace muster::server::journal
