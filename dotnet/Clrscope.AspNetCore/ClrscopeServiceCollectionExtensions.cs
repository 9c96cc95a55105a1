using Clrscope.AspNetCore;
using Microsoft.Extensions.DependencyInjection.Extensions;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds the controller to the app's services.</summary>
public static class ClrscopeServiceCollectionExtensions
{
    /// <summary>Adds what <c>MapClrscope</c> needs. Nothing is started before the first request.</summary>
    public static IServiceCollection AddClrscope(this IServiceCollection services, Action<ClrscopeOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(services);
        var options = services.AddOptions<ClrscopeOptions>();
        if (configure is not null) options.Configure(configure);
        services.TryAddSingleton<ClrscopeInside>();
        return services;
    }
}
