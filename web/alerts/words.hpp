// How the rules name things. Pure functions.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/core/api/time.hpp"

namespace muster::web {

/// "1 task", "1,204 tasks".
std::string plural(std::uint64_t n, std::string_view noun);
/// "worker:0, worker:1, worker:2 and 9 more" of `total`.
std::string some_of(std::span<std::string const> names, std::size_t total);
/// "4.2 s", "12 min", "3 h": a configured time, or one that is over; not one that goes on.
std::string length_of(core::duration d);
/// "900 MiB".
std::string mib(std::uint64_t bytes);
/// A path of the page with a query; empty values are left out.
std::string page_link(std::string path,
                      std::initializer_list<std::pair<std::string_view, std::string>> query);
/// As one word for a shell; nothing when it has control characters, which nobody should paste.
std::optional<std::string> shell_word(std::string_view text);
/// " --cluster NAME" for commands; nothing for the main one.
std::string cluster_flag(std::string const& cluster);

}  // namespace muster::web
