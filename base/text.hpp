// Pure functions that convert numbers, durations, base64, percent escapes and letter case.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// Returns 16 lower-case hexadecimal digits.
std::string hex16(std::uint64_t n);

/// Returns for example "12,345".
std::string with_thousands(std::uint64_t n);
/// Returns for example "1 closure", "12,345 closures", "2 entries".
/// @param many plural; if empty, the singular plus "s"
std::string counted(std::uint64_t n, std::string_view one, std::string_view many = {});

/// Parses a duration: whole numbers with units (us, ms, s, m, h, d), for example "1m30s". "0" needs
/// no unit.
std::optional<std::chrono::microseconds> parse_duration(std::string_view text);
/// Returns whether the text has the form of a duration, even if its numbers are too large.
bool is_duration(std::string_view text);

/// Parses a whole number within a range. The text must contain only the number.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Parses a task index of up to 18 digits.
std::optional<std::int64_t> parse_task_index(std::string_view text);

/// Encodes according to RFC 4648, with padding. Decoding accepts both alphabets, with padding or
/// without it.
std::string base64(std::string_view bytes);
/// Encodes with the URL-safe alphabet, without padding.
std::string base64_for_urls(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

/// Returns the text as UTF-8 in which control characters, quotes and backslashes are escaped, as in
/// C.
std::string escaped(std::string_view text);

/// Decodes percent escapes. Returns nothing if an escape is malformed. If `plus` is true, '+' means
/// a space, as in queries.
std::optional<std::string> percent_decoded(std::string_view text, bool plus);
/// Escapes all characters except letters, digits and -._~, for a path segment or a query value.
std::string percent_encoded(std::string_view text);

bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string lower(std::string_view text);

}  // namespace muster
