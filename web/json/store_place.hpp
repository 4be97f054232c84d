// Who has a program's store of torch.distributed, as JSON says it.
#pragma once

#include <optional>
#include <string_view>

#include "server/core/api/programs.hpp"
#include "web/json/json_fields.hpp"

namespace muster::web {

constexpr std::string_view store_words[] = {"rank0", "server"};

inline json_kind<std::optional<core::store_place>> a_store_place() {
  auto read = [](json_check& check, json_ref const& at) -> std::optional<core::store_place> {
    constexpr std::size_t word_bytes_max = 256;
    auto const word = check.text(at, word_bytes_max);
    for (auto const p : {core::store_place::rank0, core::store_place::server})
      if (word == store_words[static_cast<unsigned>(p)]) return p;
    if (!check.failed()) check.fail(invalid(at.path(), "rank0 or server"));
    return {};
  };
  return {schema::one_of({"rank0", "server"}), read};
}

}  // namespace muster::web
