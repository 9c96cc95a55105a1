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
  // `authorization`: the value of that header; `what`: empty: not worth a line of the log. Writes
  // the name of the token to `name`.
  Answer check(std::string_view authorization, Scope scope, std::string_view what,
               std::string_view peer, std::string* name = nullptr) const {
    if (!tokens.required()) {
      allow("anybody", what, peer);
      return Answer::kYes;
    }
    const auto token = tokens.find(authorization);
    const auto answer = !token              ? Answer::kNoToken
                        : token->may(scope) ? Answer::kYes
                                            : Answer::kWrongScope;
    if (answer != Answer::kYes)
      audit.note(what, token ? token->name : "", peer, "refused");
    else
      allow(token->name, what, peer);
    if (name && token) *name = token->name;
    return answer;
  }
  void allow(std::string_view who, std::string_view what, std::string_view peer) const {
    if (!what.empty()) audit.note(what, who, peer, "allowed");
  }
};

}  // namespace clrscope::fleet
