#include "tests/web/past/past_fixture.hpp"
#include "tests/web/rest/program_fixture.hpp"

namespace muster::web::test {
namespace {

using names = std::vector<std::string>;

TEST_F(history_fixture, lines_of_closures_are_found_by_text) {
  past.line(1min, {}, "loss is NaN");
  past.line(2min, {}, "all is well");
  past.line(3min, {}, "loss is nan again", core::session_id{8});
  start(with_history());
  auto const found = [&](std::string const& query) {
    return texts(get_json("/api/v1/logs/search?" + query), "lines", "text");
  };
  auto const first = get_json("/api/v1/logs/search?text=NaN").at("lines").at(0);
  EXPECT_EQ(text_at(first, "/text"), "loss is NaN");
  EXPECT_EQ(text_at(first, "/worker"), "worker:1");
  EXPECT_EQ(text_at(first, "/level"), "stdout");
  EXPECT_EQ(number_at(first, "/time_ms"), noon_ms + 60'000);
  EXPECT_EQ(found("text=NaN"), names{"loss is NaN"});
  EXPECT_EQ(found("text=NAN&ignore_case=true"), (names{"loss is NaN", "loss is nan again"}));
  EXPECT_EQ(found("text=is&from_ms=" + at(2min) + "&to_ms=" + at(2min)), names{"all is well"});
  EXPECT_EQ(found("text=is&job=job_0000000000000008"), names{"loss is nan again"});
  EXPECT_TRUE(found("text=is&cluster=train").empty());
  EXPECT_EQ(found("to_ms=" + at(2min)).size(), 2u) << "all of a time";
  EXPECT_EQ(found("text=well&cluster=default"), names{"all is well"});
  EXPECT_EQ(text_at(first, "/cluster"), "default");
  auto const page = get_json("/api/v1/logs/search?text=loss&limit=1");
  EXPECT_EQ(page.at("lines").as_array().size(), 1u);
  EXPECT_EQ(found("text=loss&limit=1&page_token=" + text_at(page, "/next_page_token")),
            names{"loss is nan again"});
}

TEST_F(history_fixture, invalid_search_is_refused_by_name) {
  start(with_history());
  auto const field = [&](std::string const& query, unsigned status) {
    return text_at(get_json("/api/v1/logs/search?" + query, status), "/field");
  };
  auto const many = get_json("/api/v1/logs/search?text=" + std::string(257, 'x'), 422);
  EXPECT_EQ(text_at(many, "/field"), "text");
  EXPECT_TRUE(contains(json::serialize(many), "256"));
  EXPECT_EQ(field("text=a&program=prog_0000000000000001&from_ms=1", 422), "from_ms");
  EXPECT_EQ(field("text=a&program=prog_0000000000000001&job=job_0000000000000001", 422), "job");
  EXPECT_EQ(field("text=a&from_ms=2&to_ms=1", 422), "to_ms");
  get_json("/api/v1/logs/search?text=a&program=nothing", 404);
  get_json("/api/v1/logs/search?text=a&program=prog_00000000000000ff", 404);
}

struct rank_search : program_fixture {
  // Answers queries for logs with `printed`, the output of each rank, in pieces of `piece` bytes.
  json::value search(std::string const& query, std::vector<std::string> const& printed,
                     std::size_t piece = 1'000) {
    auto asked = std::async(std::launch::async, [&] {
      return get_json("/api/v1/logs/search?program=" + path.substr(path.rfind('/') + 1) + "&" +
                      query);
    });
    std::size_t answered = 0;
    while (asked.wait_for(1ms) != std::future_status::ready)
      core_engine().run([&](server::hub& h) {
        for (; answered < w.queries.size(); ++answered) {
          auto const& q = w.queries[answered];
          auto const& text = printed.at(q.rank.rank);
          h.workers().logs().deliver(w.stream, q.number,
                                     server::rank_log{.known = true,
                                                      .offset = q.offset,
                                                      .data = text.substr(q.offset, piece),
                                                      .size = text.size(),
                                                      .complete = true});
        }
      });
    w.queries.clear();
    return asked.get();
  }
};

TEST_F(rank_search, lines_of_all_ranks_are_found_across_chunks_and_pages) {
  start_with_ranks();
  names const printed{"one\nloss is NaN\nlast", "Nanny\nno NaN here"};
  auto const all = search("text=NaN", printed, 13);
  ASSERT_EQ(all.at("rank_lines").as_array().size(), 2u) << json::serialize(all);
  auto const& first = all.at("rank_lines").at(0);
  EXPECT_EQ(text_at(first, "/text"), "loss is NaN");
  EXPECT_EQ(number_at(first, "/rank"), 0);
  EXPECT_EQ(number_at(first, "/offset"), 4);
  EXPECT_EQ(text_at(first, "/task"), "worker:0");
  EXPECT_EQ(text_at(all, "/rank_lines/1/text"), "no NaN here");
  EXPECT_FALSE(all.as_object().contains("next_page_token"));

  auto const page = search("text=nan&ignore_case=true&limit=2", printed);
  ASSERT_EQ(page.at("rank_lines").as_array().size(), 2u);
  auto const rest = search(
      "text=nan&ignore_case=true&limit=2&page_token=" + text_at(page, "/next_page_token"), printed);
  ASSERT_EQ(rest.at("rank_lines").as_array().size(), 1u);
  EXPECT_EQ(text_at(rest, "/rank_lines/0/text"), "no NaN here");
  EXPECT_EQ(search("text=NaN&rank=1", printed).at("rank_lines").as_array().size(), 1u);
}

TEST_F(rank_search, bytes_read_per_page_are_limited) {
  start_with_ranks();
  names const printed{std::string(9 << 20, '\n'), "NaN"};
  auto const first = search("text=NaN", printed, 256 << 10);
  EXPECT_TRUE(first.at("rank_lines").as_array().empty());
  auto const second =
      search("text=NaN&page_token=" + text_at(first, "/next_page_token"), printed, 256 << 10);
  EXPECT_EQ(second.at("rank_lines").as_array().size(), 1u);
}

TEST_F(rank_search, unreadable_logs_are_reported) {
  start_with_ranks();
  auto const id = path.substr(path.rfind('/') + 1);
  EXPECT_EQ(text_at(get_json("/api/v1/logs/search?text=a&rank=2&program=" + id, 422), "/field"),
            "rank");
  auto const none = get_json("/api/v1/logs/search?text=a&attempt=7&program=" + id);
  ASSERT_EQ(none.at("unread").as_array().size(), 2u);
  EXPECT_TRUE(contains(text_at(none, "/unread/1"), "rank 1: "));
}

}  // namespace
}  // namespace muster::web::test
