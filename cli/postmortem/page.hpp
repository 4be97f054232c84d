// The parts of a self-contained HTML file that needs neither scripts nor a server. Pure functions.
// The `facts` of a report are one object with REST answers: `about` {url, version, taken_ms, said},
// `events`, `machines`, `left_out` (sentences), and the data of the subject.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/postmortem/html_text.hpp"
#include "cli/rest.hpp"

namespace muster::cli::postmortem {

// Maximum size of a page. Sections beyond this size are omitted.
constexpr std::size_t page_bytes_max = std::size_t{8} << 20;
constexpr std::size_t rows_max = 512;

/// Returns HTML, formatted by the suffix of the key: `…_ms` is a time or a duration, `…bytes` is an
/// amount. Returns an empty string for missing fields, null, and zero times.
std::string shown(json::value const& object, std::string_view key);
/// Returns the existing fields of "Title=key|Title=key".
std::string facts(json::value const& object, std::string_view keys);
/// Returns HTML for one fact, or an empty string if there is no value. `value` is HTML.
std::string fact(std::string const& title, std::string const& value);
/// `keys` lists the columns as "Title=key|Title=key". Returns an empty string for an empty list.
std::string table(std::string const& title, json::array const& list, std::string_view keys);
/// Adds `after_ms` to each entry: the time from `begun` to the time in `key`.
json::array since(json::array list, std::string_view key, std::int64_t begun);
std::string how_it_is(json::value const& object);
std::string folded(std::string const& title, std::string const& body, bool open = false);
std::string headed(std::string const& title, std::string const& body);

struct section {
  char const *id, *title;
  std::string body;  // if empty, the section is omitted
};

struct page {
  std::string kind, title;
  std::string tone;     // tone of the verdict: "bad", "good" or empty
  std::string verdict;  // HTML
  std::vector<section> sections{};
  /// Returns the whole file: the sections, the machines and events in the time range, settings, and
  /// missing data.
  std::string text(json::value const& facts, std::int64_t from, std::int64_t to,
                   std::string const& settings);
};

}  // namespace muster::cli::postmortem
