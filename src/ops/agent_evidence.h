// What an agent that is loaded already tells while a doctor looks. Never loads one.
#pragma once

#include <memory>

#include "doctor/evidence.h"
#include "ops/agent_listener.h"

namespace clrscope::ops {

class AgentEvidence {
 public:
  // Begins to listen, if there is an agent that nobody listens to.
  explicit AgentEvidence(pid_t pid);
  void add_to(doctor::Evidence& evidence);

 private:
  std::unique_ptr<AgentListener> listener_;
  std::string note_;
};

}  // namespace clrscope::ops
