// Man pages, roff with the macros of man(7), from what `--help` says. Pure.
#pragma once

#include <string>

#include "cli/tree/tree.hpp"

namespace muster::cli {

/// "muster", "muster-serve", "muster-bench-kv".
std::string page_name(known_verb const& v);
/// What stands at the edges of pages.
struct edition {
  std::string version, date;  // "0.1.0", "2026-01-31"
};
/// The page in section 1. `top`: the whole program.
std::string man_page(known_verb const& v, known_verb const& top, edition const& e);

}  // namespace muster::cli
