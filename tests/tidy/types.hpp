// The classes and structs of sources with their data members, and the lengths of functions. It
// relies on the layout of this tree, not on C++ grammar: clang-format's output, and no macros with
// braces.
#pragma once

#include <cctype>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/tree.hpp"

struct defined_type {
  std::string name;
  bool is_struct = false;
  std::vector<std::string> fields;  // one declarator each
};

struct defined_function {
  std::string name;       // as in the definition: "hub::deliver"
  std::size_t lines = 0;  // from the line of the opening brace to the line of the closing brace
};

class type_scanner {
 public:
  explicit type_scanner(std::string text) : text_(std::move(text)) { scope(nullptr); }

  std::vector<defined_type> found;
  std::vector<defined_function> functions;

 private:
  /// Reads until the closing brace. @param of The index of the class whose body it is, or null.
  void scope(std::size_t const* of) {
    std::string statement;
    while (at_ < text_.size()) {
      char const c = text_[at_++];
      if (c == '}') return;
      if (c == ';') {
        if (of) end_member(*of, statement);
        statement.clear();
      } else if (c == ':' && is_label(statement)) {
        statement.clear();
      } else if (c == '{') {
        open(of, statement);
      } else {
        statement += c;
      }
    }
  }
  void open(std::size_t const* of, std::string& statement) {
    static std::regex const type(
        R"(^\s*(?:template\s+)*(class|struct|union)\s+([\w:]+)(?:\s+final)?\s*(?::[^]*)?$)");
    static std::regex const space(R"(^\s*(?:inline\s+)?namespace\b[^]*$)");
    auto const head = without_brackets(statement);
    std::smatch m;
    if (std::regex_match(head, space)) {
      statement.clear();
      return scope(nullptr);
    }
    if (std::regex_match(head, m, type)) {
      auto const number = found.size();
      found.push_back({m[2], m[1] != "class", {}});
      statement.clear();
      return scope(&number);
    }
    auto const lines = skip_block();
    auto const begin = head.find_first_not_of(" \n");
    bool const constructs = begin != std::string::npos && head[begin] == ',';  // ", a_{1} {"
    bool const initializes = of && !constructs &&
                             (head.find('=') != std::string::npos ||
                              (head.find('(') == std::string::npos && begin != head.npos));
    static std::regex const name(R"(([\w:~]+)\s*\()");
    if (std::regex_search(head, m, name) && !initializes) functions.push_back({m[1], lines});
    if (!initializes || head.find("operator") != std::string::npos) statement.clear();
  }
  std::size_t skip_block() {
    std::size_t lines = 1;
    for (int depth = 1; at_ < text_.size() && depth > 0; ++at_) {
      depth += text_[at_] == '{' ? 1 : text_[at_] == '}' ? -1 : 0;
      lines += text_[at_] == '\n';
    }
    return lines;
  }
  void end_member(std::size_t of, std::string const& statement) {
    static std::regex const no_data(
        R"(^\s*(?:using|friend|typedef|static|template|enum|class|struct|union|public|explicit|operator)\b)");
    auto const all = without_brackets(statement);
    auto const told = all.substr(0, all.find('='));
    if (told.find_first_not_of(" \n") == std::string::npos || std::regex_search(all, no_data) ||
        told.find('(') != std::string::npos || told.find("operator") != std::string::npos)
      return;
    auto& t = found[of];
    std::size_t depth = 0, begin = 0;
    for (std::size_t i = 0; i <= all.size(); ++i) {
      char const c = i < all.size() ? all[i] : ',';
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c != ',' || depth > 0) continue;
      t.fields.push_back(all.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  static bool is_label(std::string const& s) {
    static std::regex const label(R"(^\s*(?:public|private|protected)\s*$)");
    return std::regex_match(s, label);
  }
  /// Removes the content of < > and [ ].
  static std::string without_brackets(std::string s) {
    static std::regex const some(R"(<[^<>()]*(?:\([^()<>]*\)[^<>()]*)*>|\[[^\[\]]*\])");
    for (std::string next;; s = std::move(next)) {
      next = std::regex_replace(s, some, "");
      if (next == s) return s;
    }
  }

  std::string const text_;
  std::size_t at_ = 0;
};

/// Returns the code without comments, string literals and preprocessor lines.
inline std::string code_of(source const& s) {
  static std::regex const texts(R"re("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)')re");
  std::string all;
  bool raw = false, continued = false;
  for (auto const& line : s.lines) {
    if (raw) {
      raw = line.find(")\"") == std::string::npos && line.find(")json\"") == std::string::npos;
      continue;
    }
    auto const first = line.find_first_not_of(' ');
    if (continued || (first != std::string::npos && line[first] == '#')) {
      continued = line.ends_with('\\');
      continue;
    }
    auto code = std::regex_replace(line, texts, "0");
    code = code.substr(0, code.find("//"));
    all += code + "\n";
  }
  return all;
}
