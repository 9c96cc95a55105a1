// Lets calls in: token and scope, noted in the audit log.
#pragma once

#include <string>
#include <string_view>

#include "fleet/audit.h"
#include "fleet/tokens.h"

namespace clrscope::fleet {

struct Access {
  const Tokens& tokens;
  FleetAudit& audit;

  enum class Answer : std::uint8_t { kYes, kNoToken, kWrongScope };
  // `authorization`: the value of that header.
  Answer check(std::string_view authorization, Scope scope, std::string_view what,
               std::string_view peer) const {
    if (!tokens.required()) {
      audit.note(what, "anybody", peer, "allowed");
      return Answer::kYes;
    }
    const auto token = tokens.find(authorization);
    const auto answer = !token              ? Answer::kNoToken
                        : token->may(scope) ? Answer::kYes
                                            : Answer::kWrongScope;
    audit.note(what, token ? token->name : "", peer,
               answer == Answer::kYes ? "allowed" : "refused");
    return answer;
  }
};

}  // namespace clrscope::fleet
