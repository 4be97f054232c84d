// The one coroutine type of the project. A task starts when it is awaited, or when a task_group
// spawns it, and runs on the executor it was spawned on: the engine or the web io_context.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace muster::coro {

namespace asio = boost::asio;

template <class T>
using task = asio::awaitable<T>;

}  // namespace muster::coro
