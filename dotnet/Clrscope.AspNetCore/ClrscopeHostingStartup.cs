using Clrscope.AspNetCore;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;

[assembly: HostingStartup(typeof(ClrscopeHostingStartup))]

namespace Clrscope.AspNetCore;

/// <summary>
/// Adds the controller to an app without changes to its code: <c>ASPNETCORE_HOSTINGSTARTUPASSEMBLIES=Clrscope.AspNetCore</c>, or <c>DOTNET_STARTUP_HOOKS</c>
/// with the path of this assembly. Options are environment variables; see docs/in-app.md.
/// </summary>
internal sealed class ClrscopeHostingStartup : IHostingStartup
{
    public void Configure(IWebHostBuilder builder) => builder.ConfigureServices(services => Add(services));

    internal static void Add(IServiceCollection services)
    {
        if (services.Any(s => s.ImplementationType == typeof(Filter))) return; // the hook and ASP.NET may both have found us
        services.AddClrscope(FromEnvironment);
        services.AddTransient<IStartupFilter, Filter>();
    }

    internal static void FromEnvironment(ClrscopeOptions options)
    {
        options.BinaryPath ??= Told("CLRSCOPE_BINARY");
        options.WorkingFolder ??= Told("CLRSCOPE_FOLDER");
        options.ReadOnly |= IsTrue("CLRSCOPE_READ_ONLY");
        options.AllowAnonymous |= IsTrue("CLRSCOPE_ALLOW_ANONYMOUS");
        foreach (var argument in (Told("CLRSCOPE_ARGUMENTS") ?? "").Split(' ', StringSplitOptions.RemoveEmptyEntries)) options.Arguments.Add(argument);
    }

    static string? Told(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : null;

    static bool IsTrue(string name) => Told(name) is { } value && (value == "1" || value.Equals("true", StringComparison.OrdinalIgnoreCase));

    sealed class Filter : IStartupFilter
    {
        // In front of all that the app does, unless a policy of the app's is to be asked.
        public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => app =>
        {
            PathString at = "/" + (Told("CLRSCOPE_PATH") ?? "clrscope").Trim('/');
            var policy = Told("CLRSCOPE_POLICY");
            app.Map(at, branch =>
            {
                if (policy is not null)
                    branch.UseRouting().UseAuthentication().UseAuthorization().UseEndpoints(e => e.MapClrscope("/").RequireAuthorization(policy));
                else
                    MapAlone(branch);
            });
            next(app);
        };

        static void MapAlone(IApplicationBuilder branch)
        {
            var inside = branch.ApplicationServices.GetRequiredService<ClrscopeInside>();
            branch.ApplicationServices.GetService<Microsoft.Extensions.Hosting.IHostApplicationLifetime>()?.ApplicationStopping.Register(inside.Controller.Dispose);
            branch.Run(context => inside.AnswerAsync(context, context.Request.PathBase, context.Request.Path.HasValue ? context.Request.Path : "/", admitted: false));
        }
    }
}
