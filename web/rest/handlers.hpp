// The REST handlers of all resources. Each `*_routes` function adds its part of the table. The
// handlers are coroutines on the web thread.
#pragma once

#include "web/json/schema.hpp"
#include "web/rest/web_context.hpp"

namespace muster::server {
struct blob_figures;
}

namespace muster::web {

void add_submission_routes(std::vector<route>& to);
void add_job_routes(std::vector<route>& to);
void add_closure_routes(std::vector<route>& to);
void add_value_routes(std::vector<route>& to);
void add_value_list_routes(std::vector<route>& to);
void add_graph_routes(std::vector<route>& to);
void add_stream_routes(std::vector<route>& to);
void add_blob_routes(std::vector<route>& to);
void add_per_worker_routes(std::vector<route>& to);
void add_program_routes(std::vector<route>& to);
void add_work_routes(std::vector<route>& to);
void add_stack_routes(std::vector<route>& to);
void add_machine_routes(std::vector<route>& to);
void add_host_routes(std::vector<route>& to);
void add_object_routes(std::vector<route>& to);
void add_dataset_routes(std::vector<route>& to);
void add_cluster_routes(std::vector<route>& to);
void add_task_routes(std::vector<route>& to);
void add_barrier_routes(std::vector<route>& to);
void add_key_value_routes(std::vector<route>& to);
void add_torch_routes(std::vector<route>& to);
void add_event_routes(std::vector<route>& to);
void add_past_routes(std::vector<route>& to);
void add_timeline_routes(std::vector<route>& to);
void add_duration_routes(std::vector<route>& to);
void add_log_search_routes(std::vector<route>& to);
void add_alert_routes(std::vector<route>& to);
void add_log_routes(std::vector<route>& to);
void add_function_routes(std::vector<route>& to);
void add_queue_routes(std::vector<route>& to);
void add_token_routes(std::vector<route>& to);
void add_system_routes(std::vector<route>& to);
void add_server_health_routes(std::vector<route>& to);

coro::task<response> append_closures(web_context& context, exchange& ex);
coro::task<response> stream_results(web_context& context, exchange& ex);
schema::json result_line_schema();
coro::task<response> list_results(web_context& context, exchange& ex);
schema::json result_page_schema();
coro::task<response> get_metrics(web_context& context, exchange& ex);
std::string openapi_text(std::span<route const> routes, std::string_view version,
                         std::string_view base_path = {});
coro::task<response> get_openapi(web_context& context, exchange& ex);

using value_handle = answer_handle<muster::result<core::value_reply>>;
/// Waits up to `time` for the closure's value or failure. Runs on the engine thread.
void await_value(server::hub& h, core::closure_id id, core::duration time,
                 value_handle const& slot);

std::string blob_metrics(server::blob_figures const& f);
std::string token_metrics(web_context const& context);
std::string load_metrics(web_context const& context);
void set_permissions(std::vector<route>& all);

problem unknown_id(std::string_view what, std::string_view text);

}  // namespace muster::web
