// The parts of one HTML file that needs neither scripts nor a server. Pure. `facts` of a report is
// one object with answers of REST below names of its own: `about` {url, version, taken_ms, said},
// `events`, `machines`, `left_out` (sentences), and what the report is on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/postmortem/html_text.hpp"
#include "cli/rest.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t page_bytes_max = std::size_t{8} << 20;  // sections beyond are left out
constexpr std::size_t rows_max = 512;                         // of a table

/// The field as HTML, by the end of its name: `…_ms` is a time or how long something took,
/// `…bytes` an amount. Nothing of what is missing, of null, and of times that are 0.
std::string shown(json::value const& object, std::string_view key);
/// Those of "Title=key|Title=key" that there are.
std::string facts(json::value const& object, std::string_view keys);
/// Any other fact; nothing without a value, which is HTML.
std::string fact(std::string const& title, std::string const& value);
/// Columns "Title=key|Title=key", with `title` above. Empty: the list is.
std::string table(std::string const& title, json::array const& list, std::string_view keys);
/// The list, each with `after_ms`: from `begun` to its own `key`.
json::array since(json::array list, std::string_view key, std::int64_t begun);
/// "has failed at 2026-11-27 07:43:58 UTC", of a program or a job, with its name.
std::string how_it_is(json::value const& object);
/// What opens when somebody asks for it.
std::string folded(std::string const& title, std::string const& body, bool open = false);
/// With a heading of its own; nothing without a body.
std::string headed(std::string const& title, std::string const& body);

struct section {
  char const *id, *title;
  std::string body;  // without one it is left out
};

struct page {
  std::string kind, title;  // "program", and what it is called
  std::string tone;         // of the verdict: "bad", "good" or none
  std::string verdict;      // HTML
  std::vector<section> sections{};
  /// The whole file: behind the sections machines and events of that time, settings, and what is
  /// not here.
  std::string text(json::value const& facts, std::int64_t from, std::int64_t to,
                   std::string const& settings);
};

}  // namespace muster::cli::postmortem
