// Attempt records are only displayed, so an unreadable record never prevents a server start.
#include "server/core/api/attempt_record_fields.hpp"
#include "server/journal/described_entry.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/program_keys.hpp"

namespace muster::server::journal {

namespace {
using program_keys::kind;
}

void encode(core::program_id program, std::uint32_t attempt, core::attempt_record const* what,
            std::vector<change>& into) {
  auto key = program_keys::of(kind::record, program, attempt);
  if (what)
    into.push_back({change::kind::put, std::move(key), encoded_entry(*what)});
  else
    into.push_back({change::kind::erase, std::move(key), {}});
}

muster::result<std::vector<stored_record>> load_records(store const& s) {
  std::vector<stored_record> all;
  auto const read =
      s.read(program_keys::below(kind::record), [&](std::string_view key, std::string_view value) {
        auto const attempt = number_in(key);
        stored_record one{program_keys::program_in(key), attempt.value_or(0), {}};
        // The result is ignored, because an unknown enumerator is replaced by the first enumerator.
        bool in_range = true;
        if (attempt && decode_entry(value, one.what, in_range)) all.push_back(std::move(one));
        return true;
      });
  if (!read.ok()) return read;
  return all;
}

}  // namespace muster::server::journal
