// Numbers by std::to_chars; of Boost.System's errors the message alone.
#include "base/plain_text.hpp"

#include <array>
#include <boost/system/system_error.hpp>
#include <charconv>

namespace muster {

std::string plain_decimal(double number) {
  std::array<char, 400> text{};  // of the largest double
  auto const end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

std::string plain_text(std::exception const& error) {
  std::string text = error.what();
  auto const* const system = dynamic_cast<boost::system::system_error const*>(&error);
  auto const end = system ? system->code().what() : std::string();
  if (!end.empty() && text.ends_with(end))
    text.replace(text.size() - end.size(), end.size(), system->code().message());
  return text;
}

}  // namespace muster
