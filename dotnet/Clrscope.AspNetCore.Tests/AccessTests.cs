using System.Diagnostics;
using System.Net;
using Microsoft.AspNetCore.Http;
using Xunit;

namespace Clrscope.AspNetCore.Tests;

public class AccessTests(SharedApp shared) : IClassFixture<SharedApp>
{
    static async Task<HttpStatusCode> StatusAsync(App app, Action<HttpRequestMessage>? change = null, HttpMethod? method = null)
    {
        using var request = new HttpRequestMessage(method ?? HttpMethod.Get, "/clrscope/headers/x");
        change?.Invoke(request);
        using var answer = await app.Client.SendAsync(request);
        return answer.StatusCode;
    }

    static Task<App> Guarded() => App.StartAsync(o => o.BinaryPath = Environment.ProcessPath, ByHeader.Add, a =>
    {
        a.UseAuthentication();
        a.UseAuthorization();
        a.MapClrscope("/clrscope").RequireAuthorization("admins");
    });

    [Fact]
    public async Task TheAppsAuthorizationDecides()
    {
        await using var app = await Guarded();
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(app));
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, r => r.Headers.Add("X-User", "bert")));
        Assert.Equal(0, app.Services.GetRequiredService<ClrscopeInside>().Controller.ProcessId); // who is refused starts nothing
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, r => r.Headers.Add("X-User", "anna")));
        // It also decides about callers from elsewhere.
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, r =>
        {
            r.Headers.Add("X-User", "anna");
            r.Headers.Add("X-Forwarded-For", "10.1.2.3");
        }));
    }

    [Fact]
    public async Task TheControllerIsToldWhoItWas()
    {
        await using var app = await Guarded();
        using var request = new HttpRequestMessage(HttpMethod.Get, "/clrscope/headers/x") { Headers = { { "X-User", "anna" } } };
        using var answer = await app.Client.SendAsync(request);
        Assert.Contains("X-Clrscope-User: anna", await answer.Content.ReadAsStringAsync());
    }

    [Theory]
    [InlineData("X-Forwarded-For", "10.1.2.3")]
    [InlineData("Forwarded", "for=10.1.2.3")]
    [InlineData("Via", "1.1 edge")]
    [InlineData("Host", "attacker.example")]
    public async Task WithoutAWordOnAuthorizationOnlyThisMachineIsAnswered(string name, string value)
    {
        var app = shared.App;
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app));
        Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, r => r.Headers.TryAddWithoutValidation(name, value)));
    }

    [Fact]
    public async Task AndOfThisMachineOnlyTheAppsOwnUser()
    {
        Assert.SkipUnless(Environment.UserName == "root", "only root can play another user");
        var app = shared.App;
        Assert.Equal("403", await CurlAsync(app, "--reuid", "65534", "--clear-groups"));
        Assert.Equal("200", await CurlAsync(app, "--reuid", "0", "--clear-groups"));
    }

    static async Task<string> CurlAsync(App app, params string[] who)
    {
        var request = new ProcessStartInfo("setpriv", [.. who, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", $"{app.Address}clrscope/headers/x"]) { RedirectStandardOutput = true };
        using var curl = Process.Start(request)!;
        return await curl.StandardOutput.ReadToEndAsync();
    }

    [Fact]
    public async Task SaidAloudEverybodyIs()
    {
        await using var app = await App.StartAsync(o => o.BinaryPath = Environment.ProcessPath, map: a => a.MapClrscope("/clrscope").AllowAnonymous());
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, r => r.Headers.Add("X-Forwarded-For", "10.1.2.3")));
        await using var open = await App.StartAsync(o => (o.BinaryPath, o.AllowAnonymous) = (Environment.ProcessPath, true));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(open, r => r.Headers.Add("X-Forwarded-For", "10.1.2.3")));
    }

    [Fact]
    public async Task PagesOfOtherSitesReachNothing()
    {
        var app = shared.App;
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, method: HttpMethod.Post)); // a program
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, r => r.Headers.Add("Origin", app.Address.GetLeftPart(UriPartial.Authority)), HttpMethod.Post));
        foreach (var method in (HttpMethod[])[HttpMethod.Get, HttpMethod.Head, HttpMethod.Post, HttpMethod.Delete])
            foreach (var (name, value) in ((string, string)[])[("Origin", "https://attacker.example"), ("Origin", "null"), ("Referer", "https://attacker.example/x"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site")])
                Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, r => r.Headers.Add(name, value), method));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, r => r.Headers.Referrer = app.Address));
        foreach (var (destination, status) in ((string, HttpStatusCode)[])[("document", HttpStatusCode.OK), ("iframe", HttpStatusCode.Forbidden)]) // a link, a frame
            Assert.Equal(status, await StatusAsync(app, r =>
            {
                r.Headers.Add("Sec-Fetch-Site", "cross-site");
                r.Headers.Add("Sec-Fetch-Mode", "navigate");
                r.Headers.Add("Sec-Fetch-Dest", destination);
            }));
    }

    [Fact]
    public async Task HostingStartupAsksAPolicyOfTheAppWhenItIsNamed()
    {
        Environment.SetEnvironmentVariable("CLRSCOPE_POLICY", "admins");
        try
        {
            await using var app = await App.StartAsync(o => o.BinaryPath = Environment.ProcessPath, b =>
            {
                ByHeader.Add(b);
                ClrscopeHostingStartup.Add(b.Services);
            }, map: a => a.MapGet("/clrscope/{**rest}", () => "the app's own"));
            Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync(app));
            Assert.Equal(HttpStatusCode.Forbidden, await StatusAsync(app, r => r.Headers.Add("X-User", "bert")));
            Assert.Equal(HttpStatusCode.OK, await StatusAsync(app, r => r.Headers.Add("X-User", "anna")));
        }
        finally { Environment.SetEnvironmentVariable("CLRSCOPE_POLICY", null); }
    }

    [Fact]
    public void WithoutServicesMappingSaysWhatIsMissing()
    {
        var app = WebApplication.CreateBuilder().Build();
        Assert.Contains("AddClrscope", Assert.Throws<InvalidOperationException>(() => app.MapClrscope()).Message);
    }
}
