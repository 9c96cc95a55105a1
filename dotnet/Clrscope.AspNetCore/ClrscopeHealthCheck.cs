using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Clrscope.AspNetCore;

/// <summary>Healthy while the controller runs or was never started, degraded after it ended unexpectedly.</summary>
internal sealed class ClrscopeHealthCheck(ClrscopeInside inside) : IHealthCheck
{
    public Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        var controller = inside.Controller;
        var result = controller.Trouble is { } trouble ? HealthCheckResult.Degraded(trouble)
            : controller.ProcessId is > 0 and var pid ? HealthCheckResult.Healthy($"the controller runs as process {pid}")
            : HealthCheckResult.Healthy("the controller is started by the first request");
        return Task.FromResult(result);
    }
}
