// What handlers work with. Owned by the controller; each is safe for any thread.
#pragma once

namespace clrscope::http {

struct ServeSetting;
class Access;
class Audit;
class Processes;
class Router;
class Workers;

struct Services {
  const ServeSetting& setting;
  Access& access;
  Workers& workers;
  Processes& processes;
  const Router& router;
  Audit& audit;
};

}  // namespace clrscope::http
