// Tasks as objects: whether one is done, whose method it is, and what it waits for in turn.
//
// Follows an async method's task to the one that it awaits, as far as the objects allow: a task is
// followed only when its continuation leads back to the one that awaits it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/objects.h"

namespace clrscope::inspect {

bool is_task(const TypeInfo& type);
bool is_completed(Objects& objects, std::uint64_t task);

// "Shop.Cart.Load" from the type of an async method's task; empty for other tasks.
std::string async_method_of(std::string_view type_name);
// What to call a task: its async method, or its type.
std::string title_of_task(Objects& objects, std::uint64_t task);

struct TaskChain {
  std::vector<std::uint64_t> tasks{};  // the one asked about first, the last awaits nothing known
  // What the last one awaited is there: it has only not been run on yet.
  bool ready = false;
};
TaskChain follow_task(Objects& objects, std::uint64_t task);

// Whether `wanted` can be reached from `start` by references, without going through other tasks or
// threads; bounded.
bool leads_to(Objects& objects, std::uint64_t start, std::uint64_t wanted);

}  // namespace clrscope::inspect
