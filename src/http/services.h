// What handlers work with. Owned by the controller; each is safe for any thread.
#pragma once

namespace clrscope::ops {
class Live;
class LiveMetrics;
}  // namespace clrscope::ops

namespace clrscope::http {

struct ServeSetting;
class Access;
class Audit;
class Examinations;
class Limits;
class Operations;
class Processes;
class Recordings;
class Router;
class Sessions;
class Workers;

struct Services {
  const ServeSetting& setting;
  Access& access;
  Limits& limits;
  Workers& workers;
  Processes& processes;
  const Router& router;
  Audit& audit;
  Operations& operations;
  Recordings& recordings;
  Sessions& sessions;
  Examinations& examinations;
  ops::Live& live;
  ops::LiveMetrics& metrics;
};

}  // namespace clrscope::http
