// How the hosts of a service shall profile: settings that are changed centrally, one version after
// the other, each for a share of the hosts.
//
// A host has the newest version whose stage it is in. Which hosts are in a stage depends on service
// and host alone: those of 10 % are among those of 50 %. Nothing is overwritten: to roll back is to
// add a version with the settings of an earlier one. docs/configuration.md
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "base/shape.h"
#include "store/store.h"

namespace clrscope::fleet {

struct ProfileSettings {
  std::vector<std::string> include{};  // method patterns; empty: all as the host was started with
  std::vector<std::string> exclude{};
  std::optional<double> sample{};  // share of the requests with spans, 0 to 1; nothing: by budget
  double budget_percent = 1;       // of the CPU time of the process
  bool operator==(const ProfileSettings&) const = default;
};
enum class Include : std::uint8_t { kRequired, kOptional };
Result<ProfileSettings> read_settings(const JsonValue& object, Include include);
void write_settings(JsonWriter& json, const ProfileSettings& settings);  // members of an object

// Whether a host is among so many percent of the hosts of a service.
bool is_in_stage(std::string_view service, std::string_view host, std::uint32_t percent);

struct ConfigurationVersion {
  std::uint64_t version = 0;
  WallTime time{};
  std::string who{};
  std::string comment{};
  std::uint32_t percent = 100;
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};
  std::optional<double> sample{};
  double budget_percent = 1;
  std::uint64_t processes = 0;  // that have it now

  ProfileSettings settings() const { return {include, exclude, sample, budget_percent}; }
};
const Shape& shape_of(const ConfigurationVersion*);

struct ServiceConfiguration {
  std::string service{};
  std::vector<ConfigurationVersion> versions{};  // the newest first
};
const Shape& shape_of(const ServiceConfiguration*);

// What somebody wants: settings, or those of an earlier version.
struct WantedChange {
  std::string service{};
  std::uint64_t based_on = 0;                   // the newest version that was seen; 0: none
  std::optional<std::uint64_t> roll_back_to{};  // 0: what each host was started with
  ProfileSettings settings{};
  std::uint32_t percent = 100;
  std::string comment{};
};
Result<WantedChange> read_change(std::string_view json);

// Those of one store. Any thread.
class Configurations {
 public:
  explicit Configurations(store::Store& store) : store_(store) {}

  // By service; an empty name: of all.
  Result<std::vector<ServiceConfiguration>> list(const std::string& service);
  // A failure of code kBusy: somebody else has changed it meanwhile.
  Result<ConfigurationVersion> change(const WantedChange& wanted, const std::string& who);
  // What a host shall have; version 0: what it was started with.
  Result<ConfigurationVersion> for_host(const std::string& service, const std::string& host);
  // What a process says. Kept until the next flush() when it is new, and from time to time.
  void note(const store::AgentState& state);
  // About once a second: all that was noted goes to the store at once.
  Result<> flush();

 private:
  using Map = std::map<std::string, std::vector<ConfigurationVersion>, std::less<>>;
  struct Cache {
    Map services{};
    TraceTime read{};
    bool there = false;
  };
  struct Noted {
    std::uint64_t configuration = 0;
    std::string trouble{};
    TraceTime at{};
  };
  struct States {
    std::map<std::string, Noted> noted{};
    std::vector<store::AgentState> waiting{};
  };
  Result<Map> read();
  // At most two seconds old; when the store does not answer, what was known last.
  Result<std::vector<ConfigurationVersion>> known(const std::string& service);

  store::Store& store_;
  Guarded<Cache> cache_;
  Guarded<States> states_;
};

}  // namespace clrscope::fleet
