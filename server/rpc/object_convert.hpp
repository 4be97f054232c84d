// Converts objects on tasks between the protocol and the core. Functions that return a string
// return the field and the problem, or an empty string on success.
#pragma once

#include <string>
#include <vector>

#include "muster/v1/objects.pb.h"
#include "server/hub/object_hub.hpp"

namespace muster::server {

std::string from_wire(v1::ObjectRequests const& from, std::vector<core::objects::call_spec>& to);
core::objects::object_spec from_wire(v1::NewObject const& from);
core::datasets::dataset_spec from_wire(v1::NewDataset const& from);
std::string from_wire(v1::ObjectReports const& from, std::vector<object_hub::report>& to);

std::size_t bytes_of(core::objects::call_answer const& a);
void to_wire(core::objects::call_answer const& a, v1::ObjectAnswers& to);
void to_wire(core::object_id id, core::objects::object_spec const& spec, v1::BuildObject& to);
void to_wire(core::objects::call_order const& o, std::string const& method, core::blob const& args,
             v1::ObjectOrders& to);

}  // namespace muster::server
