// What handlers work with. Owned by the controller; each is safe for any thread.
#pragma once

namespace clrscope::archive {
class Examinations;
class Operations;
class Recordings;
class RequestRuns;
class Sessions;
}  // namespace clrscope::archive
namespace clrscope::live {
class Agents;
class Live;
class LiveMetrics;
class Watch;
}  // namespace clrscope::live

namespace clrscope::http {

struct ServeSetting;
class Access;
class Audit;
class Limits;
class Processes;
class Router;
class Workers;

struct Services {
  const ServeSetting& setting;
  Access& access;
  Limits& limits;
  Workers& workers;
  Processes& processes;
  const Router& router;
  Audit& audit;
  archive::Operations& operations;
  archive::Recordings& recordings;
  archive::Sessions& sessions;
  archive::Examinations& examinations;
  archive::RequestRuns& request_runs;
  live::Live& live;
  live::LiveMetrics& metrics;
  live::Watch& watch;
  live::Agents& agents;
};

}  // namespace clrscope::http
