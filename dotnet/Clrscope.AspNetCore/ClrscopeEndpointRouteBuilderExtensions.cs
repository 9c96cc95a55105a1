using Clrscope.AspNetCore;
using Microsoft.AspNetCore.Authorization;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Maps the controller into the app.</summary>
public static class ClrscopeEndpointRouteBuilderExtensions
{
    /// <summary>
    /// Maps the controller to all paths below <paramref name="pattern"/>. Restrict access with <c>.RequireAuthorization(…)</c>. Without that, and
    /// without <c>.AllowAnonymous()</c>, only callers on this machine that run as the app's user or root have access.
    /// </summary>
    public static IEndpointConventionBuilder MapClrscope(this IEndpointRouteBuilder endpoints, string pattern = "/clrscope")
    {
        ArgumentNullException.ThrowIfNull(endpoints);
        ArgumentNullException.ThrowIfNull(pattern);
        var inside = endpoints.ServiceProvider.GetService<ClrscopeInside>() ??
                     throw new InvalidOperationException("MapClrscope needs its services: add builder.Services.AddClrscope() before the app is built.");
        // Streams would hold up the end of the app; they end with the controller.
        endpoints.ServiceProvider.GetService<IHostApplicationLifetime>()?.ApplicationStopping.Register(inside.Controller.Dispose);
        return endpoints.Map($"{pattern.TrimEnd('/')}/{{**clrscope}}", context => AnswerAsync(context, inside))
            .WithDisplayName("clrscope")
            .WithMetadata(new ExcludeFromDescriptionAttribute())
            .DisableRequestTimeout();
    }

    static Task AnswerAsync(HttpContext context, ClrscopeInside inside)
    {
        var endpoint = (RouteEndpoint)context.GetEndpoint()!;
        // The app's authorization has been asked already, or routing would have refused to go on.
        var said = endpoint.Metadata.GetMetadata<IAuthorizeData>() is not null || endpoint.Metadata.GetMetadata<AuthorizationPolicy>() is not null ||
                   endpoint.Metadata.GetMetadata<IAllowAnonymous>() is not null;
        var (before, rest) = Divide(context.Request.Path, endpoint.RoutePattern.PathSegments.Count - 1);
        return inside.AnswerAsync(context, context.Request.PathBase.Add(before), rest, said);
    }

    // The path's first segments, which the pattern names, and what is ours.
    static (PathString Before, PathString Ours) Divide(PathString path, int segments)
    {
        var text = path.Value ?? "";
        var at = 0;
        for (var i = 0; i < segments && at >= 0 && at < text.Length; ++i) at = text.IndexOf('/', at + 1);
        return at < 0 || at >= text.Length ? (path, "/") : (text[..at], text[at..]);
    }
}
