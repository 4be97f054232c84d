#include "client/error_text.hpp"

#include <boost/system/system_error.hpp>

namespace muster {

std::string error_text(std::exception const& error) {
  std::string text = error.what();
  auto const* const system = dynamic_cast<boost::system::system_error const*>(&error);
  auto const end = system ? system->code().what() : std::string();
  if (!end.empty() && text.ends_with(end))
    text.replace(text.size() - end.size(), end.size(), system->code().message());
  return text;
}

}  // namespace muster
