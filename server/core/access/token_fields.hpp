// Field descriptions of a token; see described.hpp.
#pragma once

#include "server/core/access/token.hpp"
#include "server/core/api/described.hpp"

namespace muster::core {

constexpr auto fields_of(std::type_identity<token>) {
  using t = token;
  constexpr auto no_end = static_cast<std::uint64_t>(never.time_since_epoch().count());
  return fields(field(1, "role", &t::role), field(2, "clusters", &t::clusters),
                field(3, "expires", &t::expires).absent_if(no_end),
                field(4, "allow_exec", &t::allow_exec), field(5, "salt", &t::salt).as_bytes(),
                field(6, "digest", &t::digest).as_bytes(), field(7, "created", &t::created),
                field(8, "created_by", &t::created_by), field(9, "queued_max", &t::queued_max),
                field(10, "sessions_max", &t::sessions_max),
                field(11, "value_bytes_max", &t::value_bytes_max));
}

}  // namespace muster::core
