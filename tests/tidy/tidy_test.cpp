// Checks of the source tree that no compiler does: allowed includes, an owner for every coroutine,
// and existing files in documentation. types_test.cpp limits classes and functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tidy/parts.hpp"
#include "tests/tidy/tree.hpp"

namespace {

using muster::tidy::part;
using muster::tidy::parts;

std::string included(std::string const& line) {
  static std::regex const form("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  std::smatch m;
  return std::regex_search(line, m, form) ? m[1].str() : std::string();
}

bool starts_with_any(std::string_view text, std::vector<std::string> const& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto const& p) { return text.starts_with(p); });
}

/// Checks that every include of the files that `concerned` selects satisfies `allowed`.
void check_includes(std::function<bool(source const&)> const& concerned,
                    std::function<bool(std::string const&)> const& allowed,
                    std::string const& rule) {
  for (auto const& s : cpp_sources()) {
    if (!concerned(s)) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i)
      if (auto const header = included(s.lines[i]); !header.empty() && !allowed(header))
        ADD_FAILURE() << s.path << ":" << i + 1 << ": includes " << header << "; " << rule;
  }
}

bool is_standard(std::string const& header) {
  return header.find('/') == std::string::npos && header.find('.') == std::string::npos;
}

TEST(tidy, the_tree_was_found) {
  EXPECT_GT(cpp_sources().size(), 20u);
}

/// Returns the part that contains this path, or null.
part const* part_of(std::string const& path) {
  part const* found = nullptr;
  for (auto const& p : parts)
    if (path.starts_with(std::string(p.folder) + "/") &&
        (!found || p.folder.size() > found->folder.size()))
      found = &p;
  return found;
}

std::string installed_from(std::string const& header) {
  if (!header.starts_with("muster/")) return header;
  for (auto const* folder :
       {"client/include/", "launch/cluster/include/", "launch/cluster/http/include/"})
    if (fs::exists(fs::path(MUSTER_SOURCE_DIR) / folder / header)) return folder + header;
  return "proto/" + header;
}

TEST(tidy, parts_name_only_parts_above_them) {
  std::vector<std::string_view> above;
  for (auto const& p : parts) {
    for (auto const& other : p.may_include)
      EXPECT_TRUE(std::count(above.begin(), above.end(), other))
          << p.folder << " may include " << other << ", which is below it or does not exist";
    EXPECT_TRUE(fs::is_directory(fs::path(MUSTER_SOURCE_DIR) / p.folder)) << p.folder;
    above.push_back(p.folder);
  }
}

TEST(tidy, every_source_belongs_to_a_part) {
  for (auto const& s : cpp_sources())
    if (!part_of(s.path) && !starts_with_any(s.path, {"tests/", "bench/", "examples/"}))
      ADD_FAILURE() << s.path << " is in no folder of the table";
}

TEST(tidy, includes_follow_the_layers) {
  for (auto const& s : cpp_sources()) {
    auto const* const own = part_of(s.path);
    if (!own) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i) {
      auto const* const other = part_of(installed_from(included(s.lines[i])));
      if (other && other != own &&
          !std::count(own->may_include.begin(), own->may_include.end(), other->folder))
        ADD_FAILURE() << s.path << ":" << i + 1 << ": " << own->folder << " does not include "
                      << other->folder << "; see the table of parts";
    }
  }
}

// The table orders folders at any depth. This test checks the top-level folders.
TEST(tidy, top_level_folders_have_no_include_cycle) {
  auto const top = [](std::string const& path) { return path.substr(0, path.find('/')); };
  std::map<std::string, std::set<std::string>> includes;
  for (auto const& s : cpp_sources()) {
    auto const* const own = part_of(s.path);
    if (!own) continue;
    for (auto const& line : s.lines) {
      auto const* const other = part_of(installed_from(included(line)));
      if (other && top(s.path) != top(std::string(other->folder) + '/'))
        includes[top(s.path)].insert(top(std::string(other->folder) + '/'));
    }
  }
  for (std::size_t removed = 1; removed > 0;) {
    auto const left = includes;
    removed = std::erase_if(includes, [&](auto const& folder) {
      return std::none_of(folder.second.begin(), folder.second.end(),
                          [&](auto const& other) { return left.contains(other); });
    });
  }
  for (auto const& [folder, others] : includes)
    ADD_FAILURE() << folder << " is in an include cycle, or includes one";
}

// Only .cpp files of base may include these libraries.
bool is_library_of_base(std::string const& header) {
  return header.starts_with("absl/strings/") || header == "utf8.h" || header == "sys/stat.h";
}

/// Returns whether the file is directly in base. The folders below base may include more.
bool is_of_base(source const& s) {
  return fs::path(s.path).parent_path() == "base";
}

TEST(tidy, core_includes_only_the_standard_library_and_itself) {
  auto const pure = [](std::string const& h) {
    return is_standard(h) || starts_with_any(h, {"server/core/", "base/"}) ||
           h == "boost/system/result.hpp" || h.starts_with("boost/assert");
  };
  check_includes(
      [](source const& s) { return s.in("server/core/") || (is_of_base(s) && s.is_header()); },
      pure, "the core is pure: std, boost/system/result.hpp, base and server/core only");
  check_includes([](source const& s) { return is_of_base(s) && !s.is_header(); },
                 [&](std::string const& h) { return pure(h) || is_library_of_base(h); },
                 "base is made with std, stat(), absl/strings and utfcpp");
}

TEST(tidy, resolvers_include_only_the_standard_library_and_json) {
  check_includes(
      [](source const& s) { return s.in("launch/cluster/") && !s.in("launch/cluster/http/"); },
      [](std::string const& h) {
        return is_standard(h) || h == "unistd.h" ||
               starts_with_any(h, {"boost/json/", "launch/cluster/", "muster/"});
      },
      "users link resolvers without the server: std, Boost.JSON and cluster");
}

TEST(tidy, protobuf_and_grpc_stop_at_the_rpc_layer) {
  check_includes(
      [](source const& s) {
        return !starts_with_any(s.path, {"proto/", "coro/", "server/net/", "server/rpc/", "app/",
                                         "server/journal/", "server/history/store/", "client/",
                                         "bench/", "tests/", "examples/"}) &&
               s.path != "cli/verbs/version.cpp";
      },
      [](std::string const& h) {
        return !starts_with_any(h, {"grpc", "google/protobuf"}) && !h.ends_with(".pb.h");
      },
      "wire types are translated in server/rpc, server/journal, server/history/store and client");
}

TEST(tidy, beast_stops_at_http) {
  check_includes(
      [](source const& s) {
        return !starts_with_any(s.path, {"web/server/", "base/http_client/", "tests/"});
      },
      [](std::string const& h) { return !h.starts_with("boost/beast"); },
      "as a client use base/http_client/http_client.hpp; the server's own is web/server");
}

TEST(tidy, json_stops_at_web_client_and_command_line) {
  check_includes(
      [](source const& s) {
        return !starts_with_any(s.path, {"web/", "client/", "cli/", "launch/cluster/", "launch/",
                                         "bench/", "tests/", "examples/"});
      },
      [](std::string const& h) { return !h.starts_with("boost/json"); },
      "the server's inside has structs, not JSON");
}

TEST(tidy, architecture_pages_name_existing_files) {
  static std::regex const name("`([a-z_./]+\\.(?:cpp|hpp|proto|cmake))`");
  auto const all = read_tree([](std::string const&) { return true; });
  for (auto const& s : all) {
    if (s.path != "docs/architecture.md" && s.path != "docs/engine.md") continue;
    std::size_t named = 0;
    for (std::size_t i = 0; i < s.lines.size(); ++i)
      for (std::sregex_iterator m(s.lines[i].begin(), s.lines[i].end(), name), end; m != end; ++m) {
        ++named;
        EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                                [&](source const& other) {
                                  return other.path == (*m)[1] ||
                                         other.path.ends_with("/" + (*m)[1].str());
                                }))
            << s.path << ":" << i + 1 << ": there is no " << (*m)[1];
      }
    EXPECT_GT(named, 20u) << s.path;
  }
}

// A block of C++ on the page is the complete example that the line before it links to.
TEST(tidy, cpp_page_shows_the_examples_unchanged) {
  static std::regex const name("^\\[`(examples/[a-z]+\\.cpp)`\\]");
  auto const all = read_tree(
      [](std::string const& p) { return p == "docs/cpp.md" || p.starts_with("examples/"); });
  auto const find = [&](std::string const& path) {
    auto const it =
        std::find_if(all.begin(), all.end(), [&](source const& s) { return s.path == path; });
    return it == all.end() ? source() : *it;
  };
  auto const page = find("docs/cpp.md").lines;
  std::set<std::string> shown;
  for (std::size_t i = 2; i < page.size(); ++i) {
    if (page[i] != "```cpp") continue;
    std::smatch m;
    ASSERT_TRUE(std::regex_search(page[i - 2], m, name)) << "docs/cpp.md:" << i + 1;
    auto const end = std::find(page.begin() + std::ptrdiff_t(i), page.end(), "```");
    std::vector<std::string> const block(page.begin() + std::ptrdiff_t(i) + 1, end);
    EXPECT_EQ(block, find(m[1]).lines) << "docs/cpp.md:" << i + 1 << " is not " << m[1];
    shown.insert(m[1]);
  }
  // docs/python.md links the examples below examples/python, which tests run completely.
  for (auto const& s : all)
    EXPECT_TRUE(!s.path.ends_with(".cpp") || shown.contains(s.path))
        << "docs/cpp.md does not show " << s.path;
}

TEST(tidy, every_coroutine_belongs_to_a_task_group) {
  static std::regex const word("\\bdetached\\b");
  for (auto const& s : cpp_sources()) {
    if (s.in("tests/tidy/")) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i) {
      auto const& line = s.lines[i];
      auto const code = line.substr(0, line.find("//"));
      if (std::regex_search(code, word) && code.find("worker_disconnected") == std::string::npos &&
          code.find("asio") != std::string::npos)
        ADD_FAILURE() << s.path << ":" << i + 1 << ": asio::detached; use coro::task_group";
    }
  }
}

TEST(tidy, every_header_starts_with_a_comment) {
  for (auto const& s : cpp_sources())
    if (s.is_header() && (s.lines.empty() || !s.lines.front().starts_with("//")))
      ADD_FAILURE() << s.path << " begins without a comment";
}

TEST(tidy, every_header_has_pragma_once) {
  for (auto const& s : cpp_sources())
    if (s.is_header() && !std::count(s.lines.begin(), s.lines.end(), "#pragma once"))
      ADD_FAILURE() << s.path << " has no #pragma once";
}

TEST(tidy, every_todo_comment_names_a_decision) {
  static std::regex const words("\\b(TODO|FIXME|XXX|HACK)\\b");
  static std::regex const number("\\bdecision \\d+");
  for (auto const& s : cpp_sources()) {
    if (s.in("tests/tidy/")) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i)
      if (std::regex_search(s.lines[i], words) && !std::regex_search(s.lines[i], number))
        ADD_FAILURE() << s.path << ":" << i + 1 << ": names no decision by its number";
  }
}

TEST(tidy, no_machine_specific_path_is_committed) {
  // Split into pieces, so that this file passes its own test.
  static std::regex const machine(
      "(^|[^A-Za-z0-9_.])/("
      "work|farm|home/[a-z]+|root|Users"
      ")/");
  auto const all = read_tree([](std::string const& p) {
    for (auto const* kind : {".hpp", ".cpp", ".txt", ".cmake", ".json", ".md", ".proto", ".ts",
                             ".tsx", ".mjs", ".css", ".html", ".toml", ".py"})
      if (p.ends_with(kind)) return true;
    return p.starts_with("scripts/") || p.starts_with(".ci/");
  });
  for (auto const& s : all)
    for (std::size_t i = 0; i < s.lines.size(); ++i)
      if (std::regex_search(s.lines[i], machine))
        ADD_FAILURE() << s.path << ":" << i + 1 << ": " << s.lines[i];
}

}  // namespace
