// Functions that end a handler: they call the engine and respond with its result or error. A
// handler can return such a function's task directly. `tell(value)` creates the response, by
// default the value's JSON.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "server/core/api/activity.hpp"
#include "web/http/query.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

struct as_json {
  template <class View>
  response operator()(View const& view) const {
    return json_response(to_text(view));
  }
};
struct as_raw_json {
  response operator()(std::string text) const { return json_response(std::move(text)); }
};

/// `say(list, views…)` writes the members of the object.
template <class Say, class... View>
response object_response(Say const& say, View const&... views) {
  return json_response(object_line([&](member_list const& m) { say(m, views...); }));
}
template <auto say>
inline constexpr auto as_members = [](auto const& view) { return object_response(say, view); };

inline coro::task<response> answered(response r) {
  co_return r;
}
inline coro::task<response> refused(problem p) {
  co_return problem_response(p);
}

/// If the response is incomplete, the connection is closed, so that the client can detect this.
inline coro::task<response> end_stream(exchange& ex, bool whole) {
  response done;
  done.streamed = true;
  done.close = !whole;
  if (whole) co_await ex.end_stream();
  co_return done;
}

/// Calls `work(hub or services)` on the engine.
template <class Work, class Tell = as_json>
coro::task<response> respond_with(web_context& context, Work work, Tell tell = {}) {
  auto value = co_await context.engine.on_engine(std::move(work));
  if (!value) co_return problem_response(value.error());
  co_return tell(std::move(*value));
}

/// Calls `work(hub or services, slot)`; the result is sent to the slot.
template <class R, class Work, class Tell = as_json>
coro::task<response> ask(web_context& context, Work work, Tell tell = {}) {
  auto value = co_await context.engine.call<muster::result<R>>(std::move(work));
  if (!value) co_return problem_response(value.error());
  co_return tell(std::move(*value));
}

/// Like ask(), for work that can take up to `time`. The work is cancelled if the client
/// disconnects.
template <class R, class Work, class Tell = as_json>
coro::task<response> wait(web_context& context, exchange& ex, std::chrono::milliseconds time,
                          Work work, Tell tell = {}) {
  auto value = co_await context.engine.wait<muster::result<R>>(std::move(work), time, ex.peer());
  if (!value) co_return problem_response(value.error());
  co_return tell(std::move(*value));
}

/// Runs a command without a result: `work(hub, slot)` sends a status.
template <class Work>
coro::task<response> order(web_context& context, Work work) {
  auto const done = co_await context.engine.call<muster::status>(std::move(work));
  co_return done.ok() ? no_content() : problem_response(done);
}

template <class Id, class Then>
coro::task<response> with_id(exchange& ex, std::string_view what,
                             std::optional<Id> (*parse)(std::string_view), Then const& then) {
  auto const text = ex.req.capture("id");
  auto const id = parse(text);
  return id ? then(*id) : refused(unknown_id(what, text));
}

template <class Then>
coro::task<response> with_task(exchange& ex, Then const& then) {
  auto const text = ex.req.capture("index");
  auto const index = parse_number(text);
  if (!index || *index > INT64_MAX) return refused(unknown_id("task", text));
  return then(core::lane_key(ex.req.capture("job"), static_cast<std::int64_t>(*index)));
}

template <class Cursor>
std::string next_token(char kind, std::optional<Cursor> const& next) {
  return next ? page_token(kind, static_cast<std::uint64_t>(*next)) : std::string();
}

/// Returns a page such as {"jobs":[…],"next_page_token":"…"}. `write_rows(out)` writes the
/// elements.
template <class WriteRows>
response page_response(std::string_view name, std::string_view next, WriteRows const& write_rows) {
  return json_response(json_line([&](json_out& out) {
    auto const object = out.object();
    out.key(name).begin_array();
    write_rows(out);
    out.end_array();
    if (!next.empty()) out.key("next_page_token").string(next);
  }));
}

struct as_page {
  std::string_view name;
  char kind;

  template <class Page>
  response operator()(Page const& page) const {
    return page_response(name, next_token(kind, page.next), [&page](json_out& out) {
      for (auto const& item : page.items) write(out, item);
    });
  }
};

}  // namespace muster::web
