// Who is told of alerts, as the operator says at the start. Plain data, any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace muster::server {

struct webhook_settings {
  static constexpr std::size_t urls_max = 8;

  std::vector<std::string> urls;      // none: nobody is told
  std::filesystem::path secret_file;  // what notices are signed with; empty: they are not
  std::string page;                   // where people find the page, for links; empty: no links
  std::filesystem::path ca;           // authorities of the addresses; empty: the system's
};

/// Empty: they may be used. `insecure`: plaintext may leave the machine.
std::string problem_with(webhook_settings const& s, bool insecure);

/// "https://hooks.example/…": paths are secrets.
std::string shown_url(std::string const& url);

}  // namespace muster::server
