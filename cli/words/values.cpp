// Validators with their own messages, because CLI11's messages describe how a value is parsed
// instead of which value is expected.
#include "cli/words/values.hpp"

#include <charconv>

namespace muster::cli {
namespace {

template <class Number>
bool reads_as(std::string const& text, Number& number) {
  auto const* const end = text.data() + text.size();
  auto const [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && at == end;
}

bool within(std::string const& text, std::int64_t least, std::uint64_t most) {
  std::int64_t below = 0;
  if (text.starts_with('-')) return reads_as(text, below) && below >= least;
  std::uint64_t number = 0;
  return reads_as(text, number) && number <= most &&
         (least <= 0 || number >= static_cast<std::uint64_t>(least));
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::uint64_t most) {
  constexpr std::uint64_t countable = std::numeric_limits<std::uint32_t>::max();
  auto const from = least < -1'000'000 ? std::string() : std::to_string(least);
  auto const range = most > countable ? (from.empty() ? "" : ", at least " + from)
                     : from.empty()   ? ", at most " + std::to_string(most)
                                      : " from " + from + " to " + std::to_string(most);
  return CLI::Validator(
      [least, most, range](std::string& text) {
        return within(text, least, most) ? std::string()
                                         : "'" + text + "': must be a whole number" + range;
      },
      "");
}

CLI::Validator byte_size() {
  return CLI::Validator(
      [](std::string& text) {
        auto number = text;
        try {
          static CLI::AsSizeValue const read(false);
          bool const begins = !number.empty() && number.front() >= '0' && number.front() <= '9';
          if (begins && read(number).empty()) {
            text = number;
            return std::string();
          }
        } catch (CLI::ValidationError const&) {  // CLI11 reports most errors this way
        }
        return "'" + text + "' is not a size; write bytes as 500000, 64KiB, 10MB or 2GiB";
      },
      "");
}

std::string none_of(std::string const& text, std::vector<std::string> const& names) {
  std::string all;
  for (auto const& name : names) all += (all.empty() ? "" : ", ") + name;
  return "'" + text + "' is not one of " + all;
}

CLI::Validator one_of(std::vector<std::string> const& names) {
  return CLI::Validator(
      [names](std::string& text) {
        bool const known = std::find(names.begin(), names.end(), text) != names.end();
        return known ? std::string() : none_of(text, names);
      },
      "");
}

}  // namespace muster::cli
