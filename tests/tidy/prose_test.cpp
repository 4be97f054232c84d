// Programs use kinds, codes and fields, never the text of a message. No code searches a message, so
// messages can be reworded.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>

#include "tests/tidy/tree.hpp"

namespace {

struct allowance {
  std::string_view path, part;  // the line contains it
};

// Each with the reason.
constexpr allowance allowed[] = {
    // Detects a repeated failure, so that it is logged once.
    {"launch/cluster/cluster_watch.cpp", "last_failure == e.what()"},
    {"app/cluster_following.cpp", "last != e.what()"},
    // Shortens gRPC's text for display. gRPC has no code for the cause.
    {"client/checks.cpp", "text.starts_with(before_last)"},
    // Documented errors of etcd without a code. Its own clients compare them in the same way.
    {"server/journal/etcd/client.cpp", "s.error_message() == "},
    // RocksDB has one code for a write and a sync without space.
    {"server/journal/rocks_store.cpp", "text.find(\"While f\")"},
    // Only affects the text, so that a failure names its cause once.
    {"server/core/coordination/errors/failure_record.hpp", "message.find(cause_->message)"},
};

bool is_allowed(std::string const& path, std::string const& line) {
  return std::any_of(std::begin(allowed), std::end(allowed), [&](allowance const& a) {
    return path == a.path && line.find(a.part) != std::string::npos;
  });
}

/// Returns whether code searches or compares a message, or searches for a text with a space. A
/// single character counts as punctuation.
bool searches_prose(std::string const& code) {
  static std::string const search = "(?:find|rfind|starts_with|ends_with|contains|compare)\\(";
  static std::string const message =
      "(?:message|message\\(\\)|error_message\\(\\)|details?|explanation|what\\(\\)|why|reason|"
      "outcome|fault\\(\\)|ToString\\(\\))";
  static std::regex const in_message("\\b" + message + "\\)?\\." + search + "(?!')");
  static std::string const told =
      "(?:\\.|->)(?:message|error_message\\(\\)|detail|explanation|what\\(\\))";
  static std::regex const compared(told + " (?:==|!=) |(?:==|!=) [\\w.>()-]*" + told +
                                   "(?![\\w.(])");
  static std::regex const for_words("(?:\\.|->)" + search + "\"[^\"]*[A-Za-z] [A-Za-z]");
  return std::regex_search(code, in_message) || std::regex_search(code, compared) ||
         std::regex_search(code, for_words);
}

TEST(tidy, search_in_message_text_is_recognised) {
  for (auto const* bad :
       {"if (s.message.starts_with(no_room_begins)) return 507;",
        "auto const colon = s.message.find(\": \");",
        "if (std::string_view(e.what()).find(\"lock\") != npos)",
        "if (why.find(k.words) != std::string::npos)", "explanation.starts_with(state)",
        "bool const lost = outcome.starts_with(\"worker lost\");",
        "return e.what() == std::string(\"gone\");", "if (last != e.what()) log();",
        "if (answer.error().message == \"not there\")", "if (before == f->message) return;",
        "if (line.find(\"known keys are \") != npos)", "s.ToString().find(\"LOCK\")"})
    EXPECT_TRUE(searches_prose(bad)) << bad;
  for (auto const* good :
       {"if (why.ends_with('.')) why.pop_back();", "if (s.message.empty()) return;",
        "if (url.starts_with(\"https://\"))", "auto const at = head.find(\"\\r\\n\\r\\n\");",
        "std::string(e.what()) + \": \" + quoted(begin)", "message == nullptr",
        "if (field.size() == s.message.size()) return p;", "return id.starts_with(\"job_\");",
        "message.substr(0, message_bytes_max)"})
    EXPECT_FALSE(searches_prose(good)) << good;
}

TEST(tidy, every_allowed_text_search_exists) {
  for (auto const& a : allowed)
    EXPECT_TRUE(std::any_of(cpp_sources().begin(), cpp_sources().end(),
                            [&](source const& s) {
                              return s.path == a.path &&
                                     std::any_of(s.lines.begin(), s.lines.end(),
                                                 [&](auto const& line) {
                                                   return line.find(a.part) != std::string::npos;
                                                 });
                            }))
        << a.path << ": " << a.part << " is gone: take it out of the list";
}

TEST(tidy, no_decision_depends_on_message_text) {
  for (auto const& s : cpp_sources()) {
    if (s.in("tests/") || s.in("bench/") || s.in("examples/")) continue;
    for (std::size_t i = 0; i < s.lines.size(); ++i) {
      auto const code = s.lines[i].substr(0, s.lines[i].find("//"));
      if (searches_prose(code) && !is_allowed(s.path, code))
        ADD_FAILURE() << s.path << ":" << i + 1 << ": " << code
                      << "\nuse a kind, a code or a field instead of the message text";
    }
  }
}

}  // namespace
