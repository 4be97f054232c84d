// Files are parsed line by line. Only a list in brackets can span several lines.
#include "cli/words/config_file.hpp"

#include <absl/strings/str_replace.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "base/bounded_file.hpp"
#include "cli/command.hpp"

namespace muster::cli {
namespace {

constexpr std::string_view blanks = " \t\r";

bool is_bare_key(std::string_view text) {
  auto const fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

class config_reader {
 public:
  config_reader(std::istream& text, std::string const& path) : text_(text), file_{path, {}} {}

  config_file read() && {
    while (next_line()) {
      skip_blanks();
      if (at_end() || left_.front() == ';') continue;
      if (left_.front() == '[')
        section();
      else
        setting();
    }
    return std::move(file_);
  }

 private:
  [[noreturn]] void wrong(std::string const& why) const {
    throw command_error(exit_usage, file_.at(line_) + ": " + why);
  }

  bool next_line() {
    if (!std::getline(text_, buffer_)) return false;
    ++line_;
    left_ = buffer_;
    return true;
  }

  void skip_blanks() {
    left_.remove_prefix(std::min(left_.find_first_not_of(blanks), left_.size()));
  }
  bool at_end() const { return left_.empty() || left_.front() == '#'; }

  void section() {
    auto const end = left_.find(']');
    if (end == left_.npos) wrong("'[' begins a section, but the ']' after its name is missing");
    auto name = left_.substr(1, end - 1);
    name.remove_prefix(std::min(name.find_first_not_of(blanks), name.size()));
    name = name.substr(0, name.find_last_not_of(blanks) + 1);
    if (!is_bare_key(name)) wrong("'[" + std::string(name) + "]' is not a section; write [serve]");
    section_ = name == "default" ? "" : name;
    auto const [first, is_new] = sections_.emplace(name, line_);
    if (!is_new) wrong("'[" + std::string(name) + "]' is repeated; " + first_at(first->second));
    left_.remove_prefix(end + 1);
    nothing_follows("]");
  }

  void setting() {
    auto const end = left_.find_first_of("=#");
    bool const has_value = end != left_.npos && left_[end] == '=';
    auto key = left_.substr(0, end);
    key = key.substr(0, key.find_last_not_of(blanks) + 1);
    if (key.size() > 1 && (key.front() == '"' || key.front() == '\'') && key.back() == key.front())
      key = key.substr(1, key.size() - 2);
    auto const dot = key.find('.');
    auto const section = dot == key.npos ? section_ : std::string(key.substr(0, dot));
    auto const name = dot == key.npos ? key : key.substr(dot + 1);
    if (!is_bare_key(name)) wrong("'" + std::string(key) + "': write NAME = VALUE");
    auto& value = file_.settings[{section, std::string(name)}];
    if (value.line != 0) wrong("'" + std::string(key) + "' is repeated; " + first_at(value.line));
    value.line = line_;
    if (!has_value) {
      value.texts.emplace_back("true");
      return;
    }
    left_.remove_prefix(end + 1);
    skip_blanks();
    if (at_end()) wrong("'" + std::string(name) + "' has no value; write \"\" for an empty value");
    read_values(value.texts);
  }

  void read_values(std::vector<std::string>& values) {
    bool const brackets = left_.front() == '[';
    auto const begun = line_;
    if (brackets) left_.remove_prefix(1);
    for (;;) {
      skip_blanks();
      if (at_end()) {
        if (!brackets) {
          if (values.empty()) wrong("',' is not a value; write \"\" for an empty value");
          return;
        }
        if (next_line()) continue;
        line_ = begun;
        wrong("'[' begins a list, but the ']' at its end is missing");
      }
      if (brackets && left_.front() == ']') {
        // An empty value differs from a missing setting.
        if (values.empty()) values.emplace_back();
        break;
      }
      if (left_.front() == ',')
        left_.remove_prefix(1);
      else
        values.push_back(one_value(brackets));
    }
    left_.remove_prefix(1);
    nothing_follows("]");
  }

  std::string one_value(bool in_brackets) {
    if (left_.front() == '"') return quoted();
    if (left_.front() == '\'') {
      auto const end = left_.find('\'', 1);
      if (end == left_.npos) wrong("' begins a string, but the ' at its end is missing");
      std::string text(left_.substr(1, end - 1));
      left_.remove_prefix(end + 1);
      return text;
    }
    auto const end = left_.find_first_of(in_brackets ? ", \t\r#]" : ", \t\r#");
    std::string text(left_.substr(0, end));
    left_.remove_prefix(text.size());
    return text;
  }

  std::string quoted() {
    std::string text;
    for (std::size_t i = 1; i < left_.size(); ++i) {
      if (left_[i] == '"') {
        left_.remove_prefix(i + 1);
        return text;
      }
      if (left_[i] != '\\') {
        text += left_[i];
        continue;
      }
      auto const escaped = ++i < left_.size() ? left_[i] : ' ';
      auto const known = std::string_view("\"\\ntr").find(escaped);
      if (known == std::string_view::npos)
        wrong(std::string("'\\") + escaped +
              "' is not a valid escape sequence in \"…\"; use '…' for a string with " +
              "backslashes");
      text += "\"\\\n\t\r"[known];
    }
    wrong("\" begins a string, but the \" at its end is missing");
  }

  void nothing_follows(std::string const& what) {
    skip_blanks();
    if (!at_end()) wrong("'" + std::string(left_) + "' is not allowed after '" + what + "'");
  }

  std::string first_at(std::size_t line) const {
    return "the first one is in line " + std::to_string(line);
  }

  std::istream& text_;
  config_file file_;
  std::map<std::string, std::size_t, std::less<>> sections_;
  std::string section_, buffer_;
  std::string_view left_;
  std::size_t line_ = 0;
};

}  // namespace

config_value const* config_file::find(std::string const& section, std::string const& key) const {
  auto const it = settings.find({section, key});
  return it == settings.end() ? nullptr : &it->second;
}

config_file parse_config(std::istream& text, std::string const& path) {
  return config_reader(text, path).read();
}

config_file read_config(std::string const& path) {
  if (path.empty()) return {};
  auto text = read_bounded_file(path);
  if (!text)
    throw command_error(exit_usage, "cannot read the configuration file " + path + ": " +
                                        text.error().message + "; correct --config or omit it");
  auto stream = std::istringstream(std::move(*text));
  return parse_config(stream, path);
}

std::string config_text(std::string const& value) {
  bool const bare = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (bare || value == "true" || value == "false") return value;
  bool const one_line = value.find_first_of("\n\t\r") == value.npos;
  if (one_line && value.find_first_of("\"\\") == value.npos) return "\"" + value + "\"";
  // JSON contains many double quotes.
  if (one_line && value.find('\'') == value.npos) return "'" + value + "'";
  return "\"" +
         absl::StrReplaceAll(
             value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}, {"\t", "\\t"}, {"\r", "\\r"}}) +
         "\"";
}

}  // namespace muster::cli
