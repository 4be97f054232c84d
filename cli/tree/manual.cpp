#include <cctype>
#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>

#include "cli/tree/tree.hpp"

namespace muster::cli {
namespace {

std::string code_point(std::string_view text, std::size_t& at) {
  auto const first = static_cast<unsigned char>(text[at]);
  std::size_t const more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  std::uint32_t c = first & (0x3Fu >> more);
  for (std::size_t i = 0; i < more && at + 1 < text.size(); ++i)
    c = c << 6 | (static_cast<unsigned char>(text[++at]) & 0x3Fu);
  char name[16];
  std::snprintf(name, sizeof name, "\\[u%04X]", static_cast<unsigned>(c));
  return name;
}

// Escapes text for roff, including control characters at the beginning of a line.
std::string roff(std::string_view text) {
  static std::map<char, char const*> const escapes = {
      {'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    bool const begins = i == 0 || text[i - 1] == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    auto const escape = escapes.find(c);
    if (static_cast<unsigned char>(c) >= 0x80)
      out += code_point(text, i);
    else if (escape != escapes.end())
      out += escape->second;
    else
      out += c;
  }
  return out;
}

std::string as_it_stands(std::string const& text) {
  auto lines = std::istringstream(text);
  std::string out = ".nf\n";
  for (std::string line; std::getline(lines, line);)
    out += line.empty() ? ".sp\n" : roff(line) + "\n";
  return out + ".fi\n";
}

std::string command_of(command_info const& v) {
  return "muster" + (v.path.empty() ? "" : " " + joined(v.path));
}

std::string synopsis(command_info const& v) {
  auto text = "\\fB" + roff(command_of(v)) + "\\fR";
  if (!v.below.empty()) text += " \\fICOMMAND\\fR";
  if (!v.options.empty()) text += " [\\fIoption\\fR ...]";
  for (auto const& p : v.positionals)
    text += p.required ? " \\fI" + roff(p.value) + "\\fR" : " [\\fI" + roff(p.value) + "\\fR]";
  return text + "\n";
}

std::string entry(option_info const& o) {
  std::vector<std::string> names;
  for (auto const& n : o.names) names.push_back("\\fB" + roff(n) + "\\fR");
  auto text = ".TP\n" + joined(names, ", ");
  if (!o.value.empty()) text += (names.empty() ? "\\fI" : " \\fI") + roff(o.value) + "\\fR";
  return text + "\n" + roff(o.about) + (o.required ? " (required)" : "") + "\n";
}

std::string verbs_below(command_info const& v) {
  std::string text = ".SH COMMANDS\n";
  std::string group;
  for (auto const& b : v.below) {
    if (b.group != group && b.group != "Subcommands") text += ".SS " + roff(b.group) + "\n";
    group = b.group;
    text += ".TP\n\\fB" + roff(page_name(b)) + "\\fR(1)\n" + roff(b.about) + "\n";
  }
  return text;
}

std::string upper(std::string text) {
  for (auto& c : text) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return text;
}

std::string settings_section(command_info const& v) {
  std::string const own =
      v.path.empty() ? "" : "; MUSTER_" + upper(v.path.front()) + "_... for this command";
  return ".SH ENVIRONMENT AND FILES\n" +
         roff("Each flag can also be set in the environment (MUSTER_URL for --url" + own +
              ") or in the file of --config or MUSTER_CONFIG. Flags override the environment, "
              "which overrides the file.") +
         "\n";
}

}  // namespace

std::string page_name(command_info const& v) {
  return "muster" + (v.path.empty() ? "" : "-" + joined(v.path, "-"));
}

std::string man_page(command_info const& v, command_info const& top, edition const& e) {
  auto title = page_name(v);
  for (auto& c : title) c = static_cast<char>(std::toupper(c));
  auto text =
      ".TH \"" + title + "\" 1 \"" + e.date + "\" \"muster " + e.version + "\" \"Muster\"\n";
  text += ".SH NAME\n" + roff(page_name(v)) + " \\- " + roff(v.about) + "\n";
  text += ".SH SYNOPSIS\n" + synopsis(v);
  if (!v.below.empty()) text += verbs_below(v);
  if (!v.positionals.empty()) text += ".SH ARGUMENTS\n";
  for (auto const& p : v.positionals) text += entry(p);
  text += ".SH OPTIONS\n";
  for (auto const& o : v.options) text += entry(o);
  if (!v.footer.empty()) text += ".SH NOTES\n" + as_it_stands(v.footer);
  text += settings_section(v);
  text += ".SH EXIT STATUS\n" +
          roff(
              "0: success. 1: the command failed, was cancelled, or timed out. 2: wrong usage or "
              "configuration. 3: no server answers.") +
          "\n.SH SEE ALSO\n";
  std::vector<std::string> others;
  for (auto const& b : top.below) others.push_back("\\fB" + roff(page_name(b)) + "\\fR(1)");
  if (!v.path.empty()) others.insert(others.begin(), "\\fBmuster\\fR(1)");
  return text + joined(others, ",\n") + "\n";
}

}  // namespace muster::cli
