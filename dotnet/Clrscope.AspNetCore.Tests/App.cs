using System.Net;
using System.Security.Claims;
using System.Text.Encodings.Web;
using Microsoft.AspNetCore.Authentication;
using Microsoft.Extensions.Options;

namespace Clrscope.AspNetCore.Tests;

/// <summary>An app on a port of its own, with the controller inside.</summary>
sealed class App : IAsyncDisposable
{
    readonly WebApplication _app;

    App(WebApplication app)
    {
        _app = app;
        Address = new Uri(app.Urls.First());
        Client = new HttpClient { BaseAddress = Address, Timeout = TimeSpan.FromSeconds(60) };
    }

    public Uri Address { get; }
    public HttpClient Client { get; }
    public IServiceProvider Services => _app.Services;

    /// <summary>The native program that was built.</summary>
    public static string Program => Environment.GetEnvironmentVariable("CLRSCOPE_BINARY") is { Length: > 0 } told && File.Exists(told) ? told
        : throw new InvalidOperationException("CLRSCOPE_BINARY does not name the native program: tools/dotnet_tests sets it");

    public static async Task<App> StartAsync(Action<ClrscopeOptions>? options = null, Action<WebApplicationBuilder>? build = null, Action<WebApplication>? map = null)
    {
        var builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.AddClrscope(o =>
        {
            o.BinaryPath = Program;
            o.StartTimeout = TimeSpan.FromSeconds(60); // machines that run tests are busy
            options?.Invoke(o);
        });
        builder.Services.AddHealthChecks().AddClrscope();
        build?.Invoke(builder);
        var app = builder.Build();
        if (map is not null) map(app);
        else app.MapClrscope("/clrscope");
        app.MapHealthChecks("/healthz");
        app.MapGet("/", () => "the app itself");
        await app.StartAsync();
        return new App(app);
    }

    /// <summary>With this executable in the place of the native program.</summary>
    public static Task<App> StartWithStandInAsync(Action<WebApplicationBuilder>? build = null) => StartAsync(o => o.BinaryPath = Environment.ProcessPath, build);

    /// <summary>Alone in a process: prints where it is and stays.</summary>
    public static async Task<int> RunAsync()
    {
        await using var app = await StartAsync();
        Console.WriteLine(app.Address);
        await app._app.WaitForShutdownAsync();
        return 0;
    }

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _app.DisposeAsync();
    }
}

/// <summary>One app for the tests of a class that leave it as it was; the stand-in takes a second to start.</summary>
public sealed class SharedApp : Xunit.IAsyncLifetime
{
    internal App App { get; private set; } = null!;

    public async ValueTask InitializeAsync() => App = await App.StartWithStandInAsync();

    public async ValueTask DisposeAsync() => await App.DisposeAsync();
}

/// <summary>Who says "X-User: name" is that user.</summary>
sealed class ByHeader(IOptionsMonitor<AuthenticationSchemeOptions> options, ILoggerFactory logger, UrlEncoder encoder)
    : AuthenticationHandler<AuthenticationSchemeOptions>(options, logger, encoder)
{
    public static void Add(WebApplicationBuilder builder)
    {
        builder.Services.AddAuthentication("header").AddScheme<AuthenticationSchemeOptions, ByHeader>("header", null);
        builder.Services.AddAuthorizationBuilder().AddPolicy("admins", p => p.RequireUserName("anna"));
    }

    protected override Task<AuthenticateResult> HandleAuthenticateAsync()
    {
        if (Request.Headers["X-User"] is not [{ } name]) return Task.FromResult(AuthenticateResult.NoResult());
        var who = new ClaimsPrincipal(new ClaimsIdentity([new Claim(ClaimTypes.Name, name)], "header"));
        return Task.FromResult(AuthenticateResult.Success(new AuthenticationTicket(who, "header")));
    }
}
