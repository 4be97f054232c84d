// Counts the words of a file: runs of A-Z a-z, in lower case, whatever bytes lie between. The same
// as  LC_ALL=C tr -cs 'A-Za-z' '\n' < f | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>

namespace muster {

/// Ends early, with part of the counts, when `stop` is requested. Errors: std::system_error with
/// the path.
std::map<std::string, std::uint64_t> count_words(std::string const& path, std::stop_token stop);

}  // namespace muster
