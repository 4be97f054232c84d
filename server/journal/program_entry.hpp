// The entry of a submitted program.
#pragma once

#include <string>

#include "server/core/api/program_fields.hpp"
#include "server/journal/described_entry.hpp"

namespace muster::server::journal {

struct program_entry {
  std::string cluster{};
  core::program_spec spec{};
  core::time_point created{};
};

constexpr auto fields_of(std::type_identity<program_entry>) {
  using t = program_entry;
  return core::fields(core::field(1, "cluster", &t::cluster), core::flat(&t::spec),
                      core::field(17, "created", &t::created));
}

}  // namespace muster::server::journal
