// Text fragments for the rules. Pure functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/core/api/time.hpp"

namespace muster::web {

std::string some_of(std::span<std::string const> names, std::size_t total);
/// Must not be used for elapsed time that is still growing.
std::string length_of(core::duration d);
std::string mib(std::uint64_t bytes);
/// Omits parameters with empty values.
std::string page_link(std::string path,
                      std::initializer_list<std::pair<std::string_view, std::string>> query);
/// Returns nothing if the text contains control characters, because pasting them into a shell is
/// unsafe.
std::optional<std::string> shell_word(std::string_view text);
std::string cluster_flag(std::string const& cluster);

}  // namespace muster::web
