// muster.echo: gives its argument back, a list if there are several, untouched.
#pragma once

#include "muster/function.hpp"

namespace muster {

void echo(context& c, value_view args, value& result);

}  // namespace muster
