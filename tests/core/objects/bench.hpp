// A table of objects with sessions and workers that tests control.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/core/objects/object_table.hpp"

namespace muster::core::objects {

using namespace std::chrono_literals;

struct table_bench {
  static object_limits limits() {
    object_limits l;
    l.grace = 5s;
    return l;
  }

  time_point now{};
  object_limits const limited;
  object_table table;

  explicit table_bench(object_limits l = limits()) : limited(l), table(l, 1'000) {}

  static std::string ticket(std::uint64_t n) { return "a ticket of session " + std::to_string(n); }
  session_id open(std::uint64_t n, std::string submitter = {}) {
    session_id const s{n};
    EXPECT_TRUE(table.open(s, {ticket(n), std::move(submitter), false}).ok());
    return s;
  }
  stream_id attach(std::int64_t index, std::uint64_t incarnation, std::uint64_t stream,
                   bool takes = true) {
    table.attached(now, {"ps", index}, core::incarnation{incarnation}, stream_id{stream}, takes);
    return stream_id{stream};
  }
  static object_spec spec(std::string name = {}, std::int64_t index = 0) {
    object_spec s;
    s.name = std::move(name);
    s.class_name = "Counter";
    s.job = "ps";
    s.index = index;
    s.function = "python:3.11";
    s.args = blob("how", encoding::bytes);
    return s;
  }
  object_id make(session_id s, std::uint64_t number, object_spec of = spec()) {
    auto const made = table.create(now, s, number, std::move(of));
    EXPECT_TRUE(made.has_value()) << (made ? std::string() : made.error().message);
    return made ? *made : object_id{};
  }
  object_id ready(session_id s, stream_id at, std::uint64_t number, object_spec of = spec()) {
    auto const id = make(s, number, std::move(of));
    table.built(now, at, id, std::nullopt);
    pending_output();
    return id;
  }
  void call(session_id s, std::uint64_t number, object_id id) {
    table.call(caller_of(s), s, {number, id, "add", blob("1", encoding::bytes)});
  }
  static call_name name(session_id s, std::uint64_t number) { return {caller_of(s), number}; }
  void answer(stream_id at, object_id id, call_name n) {
    table.answered(at, id, {n, true, blob("2"), {}});
  }
  output pending_output() {
    EXPECT_EQ(table.invalid(), "");
    return table.take_output();
  }
};

}  // namespace muster::core::objects
