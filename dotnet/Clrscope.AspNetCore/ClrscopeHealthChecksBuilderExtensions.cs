using Clrscope.AspNetCore;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the controller to the app's health checks.</summary>
public static class ClrscopeHealthChecksBuilderExtensions
{
    /// <summary>Adds a check that is degraded while the controller is down; the app's own health does not depend on it.</summary>
    public static IHealthChecksBuilder AddClrscope(this IHealthChecksBuilder checks, string name = "clrscope", IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(checks);
        return checks.AddCheck<ClrscopeHealthCheck>(name, failureStatus: null, tags ?? []);
    }
}
