// Lets calls in: token, scope and tenant, noted in the audit log. The only way to a tenant's store.
#pragma once

#include <string>
#include <string_view>

#include "fleet/audit.h"
#include "fleet/tenants.h"
#include "fleet/tokens.h"

namespace clrscope::fleet {

// Who asks, as far as it is known.
struct Caller {
  std::string name{};        // of the token
  bool signed_in = false;    // a browser's cookie says who it is
  Tenant* tenant = nullptr;  // whose data it may see; null: no data, but how much each tenant uses
  std::uint8_t scopes = 0;   // bits
  bool may(Scope scope) const { return (scopes & static_cast<std::uint8_t>(scope)) != 0; }
};

struct Access {
  const Tokens& tokens;
  FleetAudit& audit;
  const Tenants& tenants;

  enum class Answer : std::uint8_t { kYes, kNoToken, kWrongScope, kNoTenant };
  // `authorization`: the value of that header; `what`: empty: not worth a line of the log.
  Answer check(std::string_view authorization, Scope scope, std::string_view what,
               std::string_view peer, Caller& caller) const {
    return tokens.required() ? decide(tokens.find(authorization), scope, what, peer, caller)
                             : decide(anybody("anybody"), scope, what, peer, caller);
  }
  // Of a browser that is signed in. `digest`: of its token; empty: it came by the one-time address.
  Answer check_visit(const std::string& name, const std::string& digest, Scope scope,
                     std::string_view what, std::string_view peer, Caller& caller) const {
    caller.signed_in = true;
    return decide(digest.empty() ? anybody(name) : tokens.of(digest), scope, what, peer, caller);
  }

 private:
  static Token anybody(std::string name) { return {.name = std::move(name), .scopes = kAllScopes}; }

  Answer decide(const std::optional<Token>& token, Scope scope, std::string_view what,
                std::string_view peer, Caller& caller) const {
    auto answer = Answer::kNoToken;
    if (token) {
      caller.name = token->name;
      caller.scopes = token->scopes;
      caller.tenant = tenants.find(token->tenant);
      const bool known = caller.tenant != nullptr || (tenants.several() && token->of_server());
      answer = !token->may(scope) ? Answer::kWrongScope : known ? Answer::kYes : Answer::kNoTenant;
    }
    if (answer != Answer::kYes) caller.tenant = nullptr;
    const bool yes = answer == Answer::kYes;
    if (!yes || !what.empty())
      audit.note(what, token ? token->name : "", peer, yes ? "allowed" : "refused",
                 token ? token->tenant : "");
    return answer;
  }
};

}  // namespace clrscope::fleet
