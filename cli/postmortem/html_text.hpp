// Texts that others wrote as HTML: escaped, and what would hide in them is shown. Times and amounts
// as people read them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::cli::postmortem {

constexpr std::size_t text_bytes_max = 2'000;  // of a name, or a sentence

/// Characters that control or turn the direction of a text become their numbers. Of a longer one
/// its beginning, and how much was left out.
std::string html(std::string_view text, std::size_t bytes_max = text_bytes_max);
/// Lines as they were printed, without the codes of colours. Of a longer text its end.
std::string lines(std::string_view text, std::size_t bytes_max);

/// "2026-11-27 07:43:58 UTC", or "07:43:58.371 UTC"; without the date: "07:43:58.371". Of 0: "".
std::string utc(std::int64_t ms, bool exact = false);
std::string clock_of(std::int64_t ms);
/// "0.3 ms", "250 ms", "12.3 s", "3 min 5 s", "2 h 10 min", "3 d 4 h".
std::string lasted(double ms);
/// "12.5 GiB".
std::string in_bytes(double bytes);
/// "1 rank", "1,200 ranks".
std::string plural(std::uint64_t n, std::string const& what);

}  // namespace muster::cli::postmortem
