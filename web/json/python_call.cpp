#include "web/json/python_call.hpp"

#include <cstdint>

namespace muster::web {
namespace {

constexpr std::string_view begins_with = "MPY2";
constexpr std::string_view text_ends_with = "MPYR";
constexpr std::string_view origins_end_with = "MPYI";
constexpr std::size_t tail_bytes = 8;

// Removes the tail that these letters mark, and the bytes that the tail counts, from `call`.
// Returns the bytes.
std::string_view cut_tail(std::string_view& call, std::string_view letters) {
  if (call.size() < tail_bytes || !call.ends_with(letters)) return {};
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < 4; ++i)
    count |= std::uint32_t{static_cast<unsigned char>(call[call.size() - tail_bytes + i])}
             << (8 * i);
  if (count > call.size() - tail_bytes) return {};
  auto const found = call.substr(call.size() - tail_bytes - count, count);
  call.remove_suffix(tail_bytes + count);
  return found;
}

}  // namespace

std::string_view python_arguments_text(std::string_view call) {
  if (!call.starts_with(begins_with)) return {};
  call.remove_prefix(begins_with.size());
  cut_tail(call, origins_end_with);
  auto const text = cut_tail(call, text_ends_with);
  return text.size() <= python_text_max ? text : std::string_view{};
}

}  // namespace muster::web
