// Reads the source tree and checks what no compiler does: which folder may include what, that
// nobody spawns a coroutine that nobody waits for, and that files stay readable.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct source {
  std::string path;  // from the top of the project
  std::vector<std::string> lines;

  bool in(std::string_view folder) const { return path.starts_with(folder); }
  bool is_header() const { return path.ends_with(".hpp"); }
};

bool skipped(std::string const& path) {
  for (auto const* folder : {"build", ".git", "web/dashboard/node_modules", "web/dashboard/dist"})
    if (path == folder || path.starts_with(std::string(folder) + "/")) return true;
  return path.find("node_modules") != std::string::npos;
}

std::vector<source> read_tree(std::function<bool(std::string const&)> const& wanted) {
  fs::path const top = MUSTER_SOURCE_DIR;
  std::vector<source> all;
  auto const end = fs::recursive_directory_iterator();
  for (auto it = fs::recursive_directory_iterator(top); it != end; ++it) {
    auto const path = fs::relative(it->path(), top).string();
    if (skipped(path)) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || !wanted(path)) continue;
    source s{path, {}};
    auto file = std::ifstream(it->path());
    for (std::string line; std::getline(file, line);) s.lines.push_back(line);
    all.push_back(std::move(s));
  }
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.path < b.path; });
  return all;
}

std::vector<source> const& cpp_sources() {
  static auto const all =
      read_tree([](std::string const& p) { return p.ends_with(".hpp") || p.ends_with(".cpp"); });
  return all;
}

std::string included(std::string const& line) {
  static std::regex const form("^\\s*#\\s*include\\s*[<\"]([^>\"]+)[>\"]");
  std::smatch m;
  return std::regex_search(line, m, form) ? m[1].str() : std::string();
}

bool starts_with_any(std::string_view text, std::vector<std::string> const& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto const& p) { return text.starts_with(p); });
}

/// Every include of every file for which `concerned` holds must satisfy `allowed`.
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

TEST(tidy, the_core_knows_only_the_standard_library_and_itself) {
  check_includes([](source const& s) { return s.in("server/core/"); },
                 [](std::string const& h) {
                   return is_standard(h) || h.starts_with("server/core/") ||
                          h == "boost/system/result.hpp" || h.starts_with("boost/assert");
                 },
                 "the core is pure: std, boost/system/result.hpp and server/core only");
}

TEST(tidy, coro_knows_nothing_of_clusters) {
  check_includes([](source const& s) { return s.in("coro/"); },
                 [](std::string const& h) {
                   return !starts_with_any(h, {"server/", "web/", "client/", "muster/"});
                 },
                 "coro joins Asio and gRPC for anybody");
}

TEST(tidy, protobuf_and_grpc_stop_at_the_rpc_layer) {
  check_includes(
      [](source const& s) {
        return !starts_with_any(s.path, {"proto/", "coro/", "server/rpc/", "server/app/", "client/",
                                         "bench/", "tests/", "examples/"}) &&
               s.path != "server/cli/version.cpp";
      },
      [](std::string const& h) {
        return !starts_with_any(h, {"grpc", "google/protobuf"}) && !h.ends_with(".pb.h");
      },
      "wire types are translated in server/rpc and client");
}

TEST(tidy, beast_stops_at_the_web_layer) {
  check_includes(
      [](source const& s) {
        return !starts_with_any(s.path, {"web/", "tests/"});
      },
      [](std::string const& h) { return !h.starts_with("boost/beast"); },
      "use web/http_client.hpp");
}

TEST(tidy, resolvers_know_no_server) {
  auto const public_ones = fs::path(MUSTER_SOURCE_DIR) / "server/cluster/include";
  check_includes([](source const& s) { return s.in("server/cluster/"); },
                 [&](std::string const& h) {
                   return is_standard(h) || h == "unistd.h" ||
                          starts_with_any(h, {"server/cluster/", "boost/json/"}) ||
                          (h.starts_with("muster/") && fs::exists(public_ones / h));
                 },
                 "users link resolvers without the server: std, Boost.JSON and server/cluster");
}

TEST(tidy, the_launcher_knows_no_server) {
  check_includes([](source const& s) { return s.in("server/launch/"); },
                 [](std::string const& h) {
                   return !starts_with_any(
                       h, {"server/core/", "server/rpc/", "server/app/", "server/cli/", "web/"});
                 },
                 "it starts programs; whose they are is nothing to it");
}

TEST(tidy, json_stops_at_web_client_and_command_line) {
  check_includes(
      [](source const& s) {
        return !starts_with_any(s.path, {"web/", "client/", "server/cli/", "server/cluster/",
                                         "server/launch/", "bench/", "tests/", "examples/"});
      },
      [](std::string const& h) { return !h.starts_with("boost/json"); },
      "the server's inside has structs, not JSON");
}

TEST(tidy, the_web_layer_reaches_the_engine_through_the_hub_only) {
  check_includes(
      [](source const& s) { return s.in("web/"); },
      [](std::string const& h) {
        return !starts_with_any(h, {"server/rpc/", "server/app/", "server/cli/", "client/"});
      },
      "web sits beside rpc, below app");
}

TEST(tidy, every_coroutine_belongs_to_a_task_group) {
  static std::regex const word("\\bdetached\\b");
  for (auto const& s : cpp_sources()) {
    if (s.in("tests/tidy/")) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i) {
      auto const& line = s.lines[i];
      auto const code = line.substr(0, line.find("//"));
      if (std::regex_search(code, word) && code.find("worker_detached") == std::string::npos &&
          code.find("asio") != std::string::npos)
        ADD_FAILURE() << s.path << ":" << i + 1 << ": asio::detached; use coro::task_group";
    }
  }
}

TEST(tidy, files_are_short_enough_to_read) {
  for (auto const& s : cpp_sources()) {
    if (s.lines.size() > 400)
      ADD_FAILURE() << s.path << " has " << s.lines.size() << " lines; split it (400 at most)";
    else if (s.lines.size() > 300)
      std::cerr << "warning: " << s.path << " has " << s.lines.size() << " lines (aim below 300)\n";
  }
}

TEST(tidy, every_header_says_what_it_is) {
  for (auto const& s : cpp_sources())
    if (s.is_header() && (s.lines.empty() || !s.lines.front().starts_with("//")))
      ADD_FAILURE() << s.path << " begins without a comment";
}

TEST(tidy, every_header_is_included_once) {
  for (auto const& s : cpp_sources())
    if (s.is_header() && !std::count(s.lines.begin(), s.lines.end(), "#pragma once"))
      ADD_FAILURE() << s.path << " has no #pragma once";
}

TEST(tidy, nothing_is_left_to_do_without_a_decision) {
  static std::regex const words("\\b(TODO|FIXME|XXX|HACK)\\b");
  for (auto const& s : cpp_sources()) {
    if (s.in("tests/tidy/")) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i)
      if (std::regex_search(s.lines[i], words) && s.lines[i].find("DESIGN.md") == std::string::npos)
        ADD_FAILURE() << s.path << ":" << i + 1 << ": names no entry of DESIGN.md";
  }
}

TEST(tidy, no_path_of_one_machine_is_written_down) {
  // Spelled in pieces, so that this file passes its own test.
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
