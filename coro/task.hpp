// A task starts when it is awaited or spawned by a task_group. It runs on the executor on which it
// was spawned: the engine's or the web io_context's.
//
// GCC 12 destroys the temporary task of `if (co_await f())`, and of while, do and switch
// conditions, at the wrong time and crashes. Name the result: `if (bool const ok = co_await f())`.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace muster::coro {

namespace asio = boost::asio;

template <class T>
using task = asio::awaitable<T>;

}  // namespace muster::coro
