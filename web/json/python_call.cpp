#include "web/json/python_call.hpp"

#include <algorithm>
#include <cstdint>

#include "base/text.hpp"
#include "server/core/api/blob_name.hpp"
#include "web/json/json_in.hpp"

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

std::string text_at_end(std::string_view bytes) {
  auto const text = cut_tail(bytes, text_ends_with);
  return std::string(text.size() <= python_text_max ? text : std::string_view{});
}

std::string text_in_reference(std::string_view value) {
  if (value.size() > core::blob_name_bytes_max || !is_json(value)) return {};
  json_ref const all(value);
  for (json_walk m(all); m.next();)
    if (m.key() == "text" && m.value().type() == json_type::string) return m.value().string();
  return {};
}

// Decodes only the end of the pickle, which contains the text.
std::string text_in_base64(std::string_view base64) {
  constexpr std::size_t end_bytes = (python_text_max + tail_bytes + 4) / 3 * 4;
  if (base64.size() % 4 != 0) return {};
  base64.remove_prefix(base64.size() - std::min(base64.size(), end_bytes));
  auto const end = from_base64(base64);
  if (!end) return {};
  return text_at_end(*end);
}

}  // namespace

std::string_view python_arguments_text(std::string_view call) {
  if (!call.starts_with(begins_with)) return {};
  call.remove_prefix(begins_with.size());
  cut_tail(call, origins_end_with);
  auto const text = cut_tail(call, text_ends_with);
  return text.size() <= python_text_max ? text : std::string_view{};
}

std::string python_value_text(core::blob const& value) {
  constexpr std::string_view begins = R"({"$pickle":")", ends = R"("})";
  auto bytes = value.view();
  if (value.encoding() == core::encoding::bytes) return text_at_end(bytes);
  if (core::names_blob(bytes)) return text_in_reference(bytes);
  if (!bytes.starts_with(begins) || !bytes.ends_with(ends)) return {};
  bytes.remove_prefix(begins.size());
  bytes.remove_suffix(ends.size());
  return text_in_base64(bytes);
}

}  // namespace muster::web
