// How the controller is exposed: what the administrator chose. Data only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "archive/settings.h"

namespace clrscope::http {

struct ServeSetting : archive::ArchiveSettings {
  std::vector<std::string> urls{};         // "http://127.0.0.1:52323", "https://…", "unix:PATH"
  std::vector<std::string> metric_urls{};  // only /metrics and health are answered there
  std::string certificate{};               // PEM, for https
  std::string certificate_key{};
  bool no_auth = false;              // said aloud
  bool no_auth_remote = false;       // with no_auth: beyond loopback too, over TLS
  bool read_only = false;            // nothing beyond the scopes metrics and read
  std::string base_path{};           // "/clrscope" behind a proxy; empty: none
  std::vector<std::string> hosts{};  // names a Host field may have beside loopback ones
  std::string diagnostic_port{};     // "PATH,listen": applications connect to it
  // Of reading one recording.
  std::uint64_t expand_limit = 4ULL << 30;
  std::chrono::seconds read_cpu{120};
  std::uint64_t sample_limit = 8'000'000;
  std::chrono::nanoseconds keep_live{std::chrono::minutes{5}};  // after the last asker
};

}  // namespace clrscope::http
