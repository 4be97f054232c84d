// The one coroutine type of the project. A task starts when it is awaited, or when a task_group
// spawns it, and runs on the executor it was spawned on: the engine or the web io_context.
// GCC 12 destroys the temporary task of `if (co_await f())` and of while, do and switch conditions
// at the wrong time and crashes: give the result a name, as in `if (bool const ok = co_await f())`.
// Not tried with a newer GCC.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace muster::coro {

namespace asio = boost::asio;

template <class T>
using task = asio::awaitable<T>;

}  // namespace muster::coro
