// HTML reports from recorded answers: foreign text is escaped and bounded, and missing parts never
// prevent a report.
#include <gtest/gtest.h>

#include "cli/postmortem/gather.hpp"
#include "cli/postmortem/job_report.hpp"
#include "cli/postmortem/page.hpp"
#include "cli/postmortem/program_report.hpp"
#include "cli/postmortem/run.hpp"

namespace muster::cli::postmortem {
namespace {

bool has(std::string const& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Expects that foreign text appears only between tags, never in attributes.
void expect_inert(std::string const& page) {
  EXPECT_FALSE(has(page, "<script"));
  EXPECT_FALSE(has(page, "http-equiv=refresh"));
  EXPECT_FALSE(has(page, " src="));
  EXPECT_FALSE(has(page, "url("));
  EXPECT_EQ(page.find("</style>"), page.rfind("</style>"));
  for (char const c : page)
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
  EXPECT_TRUE(has(page,
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'\">"));
}

TEST(report_texts, texts_are_escaped_and_hidden_characters_shown) {
  EXPECT_EQ(html("</style><script>\"'&"), "&lt;/style&gt;&lt;script&gt;&quot;&#39;&amp;");
  EXPECT_EQ(html(std::string_view("a\0b\x1b", 4)), "a<i>[U+0000]</i>b<i>[U+001B]</i>");
  EXPECT_EQ(html("\u202egnp.exe\u2066\u200b"),
            "<i>[U+202E]</i>gnp.exe<i>[U+2066]</i><i>[U+200B]</i>");
  EXPECT_EQ(html("naïve ✓ 👩‍💻"), "naïve ✓ 👩‍💻");
  EXPECT_EQ(html("\xff"), "\ufffd");
  EXPECT_EQ(html(std::string(10'000, 'n'), 5), "nnnnn<i>… 9,995 more bytes</i>");
  EXPECT_EQ(html("ééé", 3), "é<i>… 4 more bytes</i>");
}

TEST(report_texts, logs_lose_colours_and_keep_their_last_lines) {
  EXPECT_EQ(lines("\x1b[32mok\x1b[0m\t1\n10%\r20%\r\nend\n\n", 100),
            "<pre>ok\t1\n20%\nend</pre>\n");
  EXPECT_EQ(lines("\x1b]0;title\a", 100), "<pre><i>[U+001B]</i>]0;title<i>[U+0007]</i></pre>\n");
  EXPECT_EQ(lines("first\nlast", 4), "<pre><i>6 bytes before …</i>\nlast</pre>\n");
  EXPECT_EQ(lines("\n", 4), "");
}

TEST(report_texts, times_and_amounts_are_formatted) {
  EXPECT_EQ(utc(1'795'765'438'371), "2026-11-27 07:43:58 UTC");
  EXPECT_EQ(utc(1'795'765'438'371, true), "2026-11-27 07:43:58.371 UTC");
  EXPECT_EQ(utc(0), "");
  EXPECT_EQ(lasted(0.25), "0.2 ms");
  EXPECT_EQ(lasted(5'800), "5.8 s");
  EXPECT_EQ(lasted(3'725'000), "1 h 2 min");
  EXPECT_EQ(in_bytes(1536), "1.5 KiB");
}

TEST(report_pages, page_is_made_from_empty_facts) {
  for (auto const& facts :
       {json::value(), json::value(json::object{{"program", 7}, {"job", "x"}})}) {
    expect_inert(program_report(facts));
    expect_inert(job_report(facts, {}));
    expect_inert(run_report(facts));
  }
}

// Hostile text in every place that can contain foreign text.
constexpr char hostile[] = "</style><script>alert(1)</script>\xe2\x80\xae\x07";

json::value failed_program() {
  json::object const cause{{"kind", "EXIT_STATUS"},
                           {"rank", 1},
                           {"task", "worker:1"},
                           {"host", hostile},
                           {"exit_status", 3},
                           {"text", hostile},
                           {"stderr", json::array{"Traceback", hostile, " "}}};
  json::object const attempt{
      {"attempt", 1},
      {"end", "FAILED"},
      {"ranks", 2},
      {"hosts", 1},
      {"begun_ms", 1'795'765'428'993},
      {"ended_ms", 1'795'765'432'575},
      {"cause", cause},
      {"events", json::array{json::object{{"at_ms", 1'795'765'430'000},
                                          {"kind", "WORKER_AWAY"},
                                          {"about", hostile},
                                          {"text", hostile}}}},
      {"barriers", json::array{json::object{{"id", hostile},
                                            {"last", "worker:1"},
                                            {"late_ms", 2'500.5},
                                            {"host", "b"},
                                            {"ended_ms", 1'795'765'431'000}}}},
      {"stacks", json::array{json::object{{"state", "TAKEN"},
                                          {"stack", hostile},
                                          {"ranks", json::array{json::object{{"rank", 0}}}}}}},
      {"stacks_left_out", 3},
      {"ended", json::array{json::object{{"rank", 1},
                                         {"task", "worker:1"},
                                         {"host", hostile},
                                         {"ended_ms", 1'795'765'432'567},
                                         {"exit_status", 3},
                                         {"stderr", json::array{hostile}}}}}};
  json::object const program{
      {"id", "prog_1"},
      {"name", hostile},
      {"state", "FAILED"},
      {"attempt", 1},
      {"ranks", 2},
      {"created_ms", 1'795'765'428'000},
      {"finished_ms", 1'795'765'432'575},
      {"cause", cause},
      {"command", json::array{"python", hostile}},
      {"env", json::object{{"SECRET", "hidden-value"}}},
      {"metadata", json::object{{hostile, hostile}}},
      {"steps",
       json::object{
           {"least", 3},
           {"most", 9},
           {"slow", json::array{json::object{
                        {"rank", 0}, {"host", hostile}, {"chronic", true}, {"percent", 6.1}}}}}}};
  return json::object{
      {"about", {{"url", hostile}, {"taken_ms", 1'795'765'433'000}}},
      {"program", program},
      {"attempts", json::array{attempt}},
      {"ranks", json::array{json::object{{"rank", 0}, {"task", hostile}, {"state", "STOPPED"}},
                            json::object{{"rank", 1},
                                         {"task", "worker:1"},
                                         {"state", "FAILED"},
                                         {"ended_ms", 1'795'765'432'567},
                                         {"exit_status", 3}}}},
      {"logs", json::array{json::object{{"rank", 1},
                                        {"task", hostile},
                                        {"of_cause", true},
                                        {"log", json::object{{"data", hostile}}}},
                           json::object{{"rank", 0}, {"why", hostile}}}},
      {"machines",
       json::array{json::object{
           {"host", hostile},
           {"machine", json::object{{"cpus", 2}}},
           {"samples", json::object{{"seconds", json::array{1'795'765'430, 1'795'765'431}},
                                    {"cpu", json::array{1.5, nullptr}}}}}}},
      {"events", json::array{json::object{{"time_ms", 1'795'765'432'575},
                                          {"severity", "ERROR"},
                                          {"kind", hostile},
                                          {"text", hostile}}}},
      {"left_out", json::array{hostile}}};
}

TEST(report_pages, program_page_begins_with_the_failed_rank_and_the_cause) {
  auto const page = program_report(failed_program());
  expect_inert(page);
  EXPECT_TRUE(has(page, "has failed at 2026-11-27 07:43:52 UTC: rank 1 on "));
  EXPECT_TRUE(has(page, " ended with exit status 3, with the last line <b>“"));
  EXPECT_TRUE(has(page, "after 3.6 s of attempt 1."));
  for (auto const* part :
       {"<path class=f ", "<path class=l ", "2.5 s", "3 more stacks exceeded the server's limit",
        "at most 75%", "6.1", "Could not be loaded: ", "Omitted from this report"})
    EXPECT_TRUE(has(page, part)) << part;
}

TEST(report_pages, program_page_never_shows_values_of_variables) {
  auto facts = failed_program();
  EXPECT_FALSE(has(program_report(facts), "hidden-value"));
  facts.at("program").as_object()["env"] = json::array{"SECRET"};
  auto const page = program_report(facts);
  EXPECT_TRUE(has(page, "Variables, names only</dt><dd>SECRET</dd>"));
}

TEST(report_pages, program_page_reports_waiting_and_hanging) {
  json::object program{{"name", "train"},
                       {"state", "PENDING"},
                       {"attempt", 0},
                       {"created_ms", 1'795'765'428'000},
                       {"waits_for", "2 more workers"}};
  auto const waits = program_report(json::object{{"program", program}});
  EXPECT_TRUE(has(waits, "is still PENDING before any rank started."));
  EXPECT_TRUE(has(waits, "2 more workers"));
  program["state"] = "RUNNING";
  program["attempt"] = 1;
  program["hang"] = {{"text", "rank 3 on b is behind"}, {"evidence", "STEP"}};
  EXPECT_TRUE(has(program_report(json::object{{"program", program}}),
                  "is still RUNNING: rank 3 on b is behind."));
}

TEST(report_pages, job_page_lists_each_distinct_failure_once) {
  auto const closure = [](int i, char const* kind, std::string const& message) {
    return json::object{{"id", "cl_" + std::to_string(i)},
                        {"index", i},
                        {"function", hostile},
                        {"error",
                         {{"kind", kind},
                          {"message", message},
                          {"worker", "worker:0"},
                          {"attempt", 1},
                          {"traceback", std::string("File x\n") + hostile}}},
                        {"attempts", json::array{json::object{{"attempt", 1}, {"host", "b"}}}}};
  };
  json::array const failed{closure(7, "INPUT", "input failed"), closure(1, "USER", "part 1"),
                           closure(2, "USER", "part 22"), closure(3, "USER", hostile)};
  spans done;
  for (
      auto const* line :
      {"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[",
       R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"b"}},)",
       R"({"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker:0 #2"}},)",
       R"({"ph":"X","name":"f","pid":1,"tid":2,"ts":1795765428000000,"dur":1000,"args":{"state":"FAILED"}},)",
       R"({"ph":"X","name":"f","pid":1,"tid":2,"ts":1795765428500000,"dur":3000,"args":{"state":"SUCCEEDED"}})",
       "]}"})
    EXPECT_TRUE(done.read(line));
  json::object const facts{
      {"job", json::object{{"id", "job_1"},
                           {"name", hostile},
                           {"state", "FAILED"},
                           {"counts", {{"total", 9}, {"failed", 4}, {"succeeded", 5}}},
                           {"error", failed[1].at("error")},
                           {"created_ms", 1'795'765'428'000},
                           {"finished_ms", 1'795'765'429'000}}},
      {"failed", failed},
      {"logs", {{"cl_3", json::array{json::object{{"level", "stderr"}, {"text", hostile}}}}}}};
  auto const page = job_report(facts, done);
  expect_inert(page);
  EXPECT_TRUE(has(page,
                  "failed on worker:0 (host b) in attempt 1 with <b>“USER part 1”</b>; of 9 "
                  "closures 5 succeeded, 4 failed and 0 were cancelled."));
  EXPECT_TRUE(has(page, "2 closures like this, the first is closure 1"));
  EXPECT_LT(page.find("USER part 1</span>"), page.find("INPUT input failed</span>"));
  EXPECT_TRUE(has(page, "worker:0 on b"));
  EXPECT_EQ(done.sums(true).at(0).at("median_ms"), 1.0);
  EXPECT_EQ(done.sums(false).at(0).at("failed"), 1u);
}

TEST(report_pages, run_page_begins_with_its_first_failure) {
  json::object const run{
      {"number", 3},
      {"state", "FAILED"},
      {"started_ms", 1'795'765'428'000},
      {"ended_ms", 1'795'765'429'000},
      {"cause", {{"task", "worker:1"}, {"address", "10.0.0.7:1"}, {"message", hostile}}}};
  auto const page = run_report(json::object{{"cluster", {{"name", "train"}}}, {"run", run}});
  expect_inert(page);
  EXPECT_TRUE(
      has(page,
          "Run 3 of <b>train</b> has failed at 2026-11-27 07:43:49 UTC: the first failure was "
          "worker:1 at 10.0.0.7:1, <b>“"));
}

TEST(report_pages, pages_are_limited_and_report_omissions) {
  json::array rows(600, json::value(json::object{{"a", "x"}}));
  EXPECT_TRUE(has(table("T", rows, "A=a"), "88 more"));
  page big{
      "job", "x", "", "v", {{"a", "A", std::string(page_bytes_max + 1, 'x')}, {"b", "B", "kept"}}};
  auto const text = big.text({}, 0, 0, {});
  EXPECT_LT(text.size(), 100'000u);
  EXPECT_TRUE(
      has(text,
          "Omitted because of its size, 8.0 MiB: the limit for all sections together is 8.0 MiB."));
  EXPECT_TRUE(has(text, "kept"));
  chart c{0, 100, 1, std::vector<lane>(70)};
  EXPECT_TRUE(has(c.text("o=ok"), "6 more lanes omitted"));
  json::array many;
  for (int i = 0; i < 30; ++i)
    many.push_back(
        json::object{{"function", std::string(i + 1, 'f')}, {"error", {{"kind", "USER"}}}});
  EXPECT_TRUE(has(job_report(json::object{{"failed", many}}, {}), "10 more kinds of failure."));
  spans done;
  std::string const line = R"({"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":1,"args":{}})";
  for (std::size_t i = 0; i < spans_max; ++i) ASSERT_TRUE(done.read(line));
  EXPECT_FALSE(done.read(line));
}

}  // namespace
}  // namespace muster::cli::postmortem
