// Text fragments for the rules. Pure functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/core/api/time.hpp"

namespace muster::web {

/// Returns for example "1 task" or "1,204 tasks".
std::string plural(std::uint64_t n, std::string_view noun);
/// Returns for example "worker:0, worker:1, worker:2 and 9 more". `total` is the total number of
/// names.
std::string some_of(std::span<std::string const> names, std::size_t total);
/// Returns for example "4.2 s", "12 min" or "3 h". Only for fixed durations, not for elapsed time
/// that is still growing.
std::string length_of(core::duration d);
/// Returns for example "900 MiB".
std::string mib(std::uint64_t bytes);
/// Returns a dashboard path with a query; omits empty values.
std::string page_link(std::string path,
                      std::initializer_list<std::pair<std::string_view, std::string>> query);
/// Quotes the text as one shell word. Returns nothing if it contains control characters, which are
/// unsafe to paste.
std::optional<std::string> shell_word(std::string_view text);
/// Returns " --cluster NAME", or an empty string for the main cluster.
std::string cluster_flag(std::string const& cluster);

}  // namespace muster::web
