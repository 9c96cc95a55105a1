// Which runtime sessions a set of requests needs: as few as there can be without asking the program
// for an event that nobody wants.
//
// Pure: requests in, sessions out. A session has a provider once, with one level and one set of
// arguments, so requests that cannot be told apart by that share one:
// - keywords add up where the level is the same; where not, the sum would be wider than the parts;
// - stacks are taken for all events of a session or for none, so those who want them are apart;
// - meters add up too: their names are an argument of the one provider that tells them;
// - a provider that is configured has a session without others, which need not be replaced for
// them;
// - a listener that holds up its session has it alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hub/source.h"

namespace clrscope::hub {

struct Need {
  ProviderRequest request{};
  bool stacks = false;
  std::uint64_t alone = 0;  // those with the same number share sessions; 0: with everybody
};

struct PlannedSession {
  SourceRequest request{};
  std::uint64_t alone = 0;
  std::vector<std::size_t> needs{};  // places in what was asked

  bool serves(const Need& need) const;
};

std::vector<PlannedSession> plan_sessions(std::span<const Need> needs);

// Whether a session with this request brings what is needed.
bool serves(const SourceRequest& session, const ProviderRequest& wants, bool stacks);

}  // namespace clrscope::hub
