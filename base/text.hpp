// Texts that are neither JSON nor HTTP: numbers, durations, base64, percent escapes, letters' case.
// Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// 16 lower-case hex digits.
std::string hex16(std::uint64_t n);

/// Whole numbers with a unit (us, ms, s, m, h, d), several in a row ("1m30s"); "0" needs none.
std::optional<std::chrono::microseconds> parse_duration(std::string_view text);
/// Whether it has that form, though the numbers may be too large for it to be one.
bool is_duration(std::string_view text);

/// A whole number that fits, nothing else in the text.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// The index of a task: up to 18 digits.
std::optional<std::int64_t> parse_task_index(std::string_view text);

/// RFC 4648 with padding; decoding accepts both alphabets and missing padding.
std::string base64(std::string_view bytes);
/// In the URL's alphabet, without padding.
std::string base64_for_urls(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

/// Nothing when an escape is malformed. `plus`: '+' stands for a space (queries).
std::optional<std::string> percent_decoded(std::string_view text, bool plus);
/// All but letters, digits and -._~ is escaped: a path segment or a query's value.
std::string percent_encoded(std::string_view text);

bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string lower(std::string_view text);

}  // namespace muster
