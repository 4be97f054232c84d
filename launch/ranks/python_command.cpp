#include "launch/ranks/python_command.hpp"

#include <stdexcept>
#include <string_view>

namespace muster::launch {
namespace {

[[noreturn]] void refuse(std::string const& why) {
  throw std::invalid_argument(why);
}

bool is_python(std::string_view word) {
  auto const slash = word.rfind('/');
  auto const name = slash == word.npos ? word : word.substr(slash + 1);
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == name.npos;
}

class reader {
 public:
  explicit reader(std::vector<std::string> const& words) : arguments_(words) {
    found_.interpreter.push_back(words[0]);
  }

  python_command read() {
    while (at_ < arguments_.size() && arguments_[at_].starts_with('-') && found_.words.empty())
      option();
    if (found_.words.empty() && at_ == arguments_.size()) refuse("the command runs no script");
    found_.words.insert(found_.words.end(), arguments_.begin() + static_cast<std::ptrdiff_t>(at_),
                        arguments_.end());
    if (found_.mode == 's' && found_.words[0].ends_with(".pyc")) refuse("the script is compiled");
    return std::move(found_);
  }

 private:
  void option() {
    auto const& word = arguments_[at_];
    if (word == "-") refuse("the script is read from standard input");
    bool const is_long = word == "--check-hash-based-pycs";
    if (!is_long && word.starts_with("--")) refuse("python's option " + word);
    for (std::size_t i = 1; i < word.size() && !is_long; ++i) {
      char const c = word[i];
      if (c == 'm' || c == 'c') return end(c, i);
      if (c == 'W' || c == 'X') {
        take(i + 1 == word.size() ? 2 : 1);
        return;
      }
      if (std::string_view("bBdEIOPqRsSuv").find(c) == std::string_view::npos)
        refuse(std::string("python's option -") + c);
    }
    take(is_long ? 2 : 1);
  }

  void take(std::size_t count) {
    for (; count > 0; --count) found_.interpreter.push_back(next());
  }

  // An argument can combine several options, for example -um.
  void end(char mode, std::size_t at) {
    auto const word = next();
    if (at > 1) found_.interpreter.push_back(word.substr(0, at));
    found_.mode = mode;
    found_.words.push_back(at + 1 < word.size() ? word.substr(at + 1) : next());
  }

  std::string next() {
    if (at_ == arguments_.size()) refuse("python's last option has no value");
    return arguments_[at_++];
  }

  std::vector<std::string> const& arguments_;
  std::size_t at_ = 1;
  python_command found_;
};

}  // namespace

python_command python_command_of(std::vector<std::string> const& command) {
  if (command.empty() || !is_python(command[0])) refuse("the command is not a Python program");
  if (command[0].find('/') != std::string::npos && command[0].front() != '/')
    refuse("the path of the interpreter is relative");
  return reader(command).read();
}

}  // namespace muster::launch
