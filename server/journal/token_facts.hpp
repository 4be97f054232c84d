// Tokens as entries of a store, and back; see journal/v1/records.proto.
#pragma once

#include <vector>

#include "server/core/access/token.hpp"
#include "server/journal/store.hpp"

namespace muster::server::journal {

void encode(core::token_fact const& f, std::vector<change>& into);

/// All tokens of a store, in order of ids. INTERNAL names an entry that cannot be read.
muster::result<std::vector<core::token>> load_tokens(store const& s);

}  // namespace muster::server::journal
