#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "http/route.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

std::vector<const Route*> all_routes() {
  std::vector<const Route*> out;
  for (const auto& group : route_groups())
    for (const auto& route : group) out.push_back(&route);
  return out;
}

std::string name_of(const Route& route) {
  return std::string{route.method} + " " + std::string{route.path};
}

std::set<std::string> routes_of(Load load) {
  std::set<std::string> out;
  for (const auto* route : all_routes()) {
    if (route->load == load) out.insert(name_of(*route));
    for (const auto type : split(route->types, ' '))
      if (!type.empty() && load_of(*route, type) == load)
        out.insert(name_of(*route) + (load == Load::kStream ? " " + std::string{type} : ""));
  }
  return out;
}

TEST(Routes, OnlyLiveDataCountsAsAStream) {
  EXPECT_THAT(routes_of(Load::kStream),
              testing::UnorderedElementsAre(
                  "GET /counters text/event-stream", "GET /counters application/x-ndjson",
                  "GET /counters/{provider} text/event-stream",
                  "GET /counters/{provider} application/x-ndjson",
                  "GET /counters/{provider}/{name} text/event-stream",
                  "GET /counters/{provider}/{name} application/x-ndjson",
                  "GET /live text/event-stream", "GET /livemetrics application/json-seq",
                  "GET /livemetrics application/x-ndjson", "POST /livemetrics application/json-seq",
                  "POST /livemetrics application/x-ndjson", "GET /logs application/x-ndjson",
                  "GET /logs application/json-seq", "GET /logs text/plain",
                  "GET /watch/events text/event-stream", "GET /logs text/event-stream",
                  "POST /logs application/x-ndjson", "POST /logs application/json-seq",
                  "POST /logs text/plain", "POST /logs text/event-stream"));
}

TEST(Routes, WhatRecordsOrReadsMemoryIsLimitedMost) {
  EXPECT_THAT(routes_of(Load::kRecording),
              testing::UnorderedElementsAre("GET /trace", "POST /trace", "GET /agent/exceptions",
                                            "GET /agent/contention", "GET /agent/allocations",
                                            "GET /agent/survivors", "GET /agent/runtime",
                                            "POST /agent/methods", "GET /requests"));
  EXPECT_THAT(
      routes_of(Load::kMemory),
      testing::UnorderedElementsAre("GET /dump", "GET /gcdump", "GET /heap", "POST /agent/heap"));
  EXPECT_THAT(routes_of(Load::kHealth),
              testing::UnorderedElementsAre("GET /health/live", "GET /health/ready"));
}

TEST(Routes, AreLightOnlyWhenTheyAreAnsweredAtOnce) {
  for (const auto* route : all_routes()) {
    const bool light = route->load == Load::kLight || route->load == Load::kHealth;
    EXPECT_EQ(light, route->runs == Runs::kAtOnce) << name_of(*route);
    EXPECT_NE(route->load, Load::kStream) << name_of(*route) << ": name its live_types";
    EXPECT_NE(route->load, Load::kConversion) << name_of(*route) << ": entered by handlers";
  }
}

TEST(Routes, LiveTypesAreAmongTheTypes) {
  for (const auto* route : all_routes()) {
    if (route->live_types.empty()) continue;
    const auto types = split(route->types, ' ');
    for (const auto type : split(route->live_types, ' '))
      EXPECT_THAT(types, testing::Contains(type)) << name_of(*route);
  }
}

TEST(Routes, DescribeEveryJsonAnswer) {
  const std::set<std::string> open{"GET /openapi.json"};  // described by its standard
  for (const auto* route : all_routes()) {
    if (route->hidden) continue;
    const auto types = split(route->types, ' ');
    const bool answers_json = std::ranges::find(types, kJson) != types.end();
    EXPECT_EQ(answers_json && route->json == nullptr, open.contains(name_of(*route)))
        << name_of(*route);
  }
}

TEST(Routes, UseOneNameForOneShape) {
  std::map<std::string_view, const Shape*> all;
  const auto look = [&](JsonShape shape) {
    if (!shape) return;
    std::map<std::string_view, const Shape*> own;
    gather_shapes(shape(), own);
    for (const auto& [name, one] : own)
      EXPECT_EQ(all.emplace(name, one).first->second, one) << name;
  };
  for (const auto* route : all_routes()) {
    for (const auto shape : {route->json, route->line, route->body}) look(shape);
    for (const auto& event : route->events) look(event.data);
  }
}

TEST(Routes, LimitWhatTheyLeaveRunning) {
  std::set<std::string> limited;
  for (const auto* route : all_routes())
    if (route->running.all != 0) limited.insert(name_of(*route));
  EXPECT_THAT(limited,
              testing::UnorderedElementsAre("POST /sessions", "GET /doctor", "POST /doctor",
                                            "GET /requests", "POST /requests"));
}

}  // namespace
}  // namespace clrscope::http
