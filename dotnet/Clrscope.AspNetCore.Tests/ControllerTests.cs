using System.Diagnostics;
using System.Net;
using System.Net.Http.Json;
using System.Net.Sockets;
using System.Text.Json;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Xunit;

namespace Clrscope.AspNetCore.Tests;

/// <summary>With the real native program: what it shows, and how it lives and dies.</summary>
public class ControllerTests
{
    static readonly TimeSpan s_patience = TimeSpan.FromSeconds(30);

    static int ControllerOf(App app) => app.Services.GetRequiredService<ClrscopeInside>().Controller.ProcessId;

    static async Task UntilAsync(Func<Task<bool>> true_)
    {
        var start = Stopwatch.GetTimestamp();
        while (!await true_())
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < s_patience, "it did not come true in time");
            await Task.Delay(20);
        }
    }

    [Fact]
    public async Task ShowsTheAppAndNothingElse()
    {
        await using var app = await App.StartAsync();
        Assert.Equal(0, ControllerOf(app)); // nothing is started before it is asked for
        var processes = await app.Client.GetFromJsonAsync<JsonElement>("/clrscope/processes");
        Assert.Equal(Environment.ProcessId, processes.EnumerateArray().Single().GetProperty("pid").GetInt32());
        Assert.NotEqual(0, ControllerOf(app));
    }

    [Fact]
    public async Task PagesLinkBelowThePathOfTheApp()
    {
        await using var app = await App.StartAsync(map: a => a.MapGroup("/{tenant}").MapClrscope("/tools/scope"));
        using var request = new HttpRequestMessage(HttpMethod.Get, "/blue%20one/tools/scope/stacks") { Headers = { { "Accept", "text/html" } } };
        using var answer = await app.Client.SendAsync(request);
        var page = await answer.Content.ReadAsStringAsync();
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Contains("href=\"/blue%20one/tools/scope/", page);
        Assert.Contains("data-base=\"/blue%20one/tools/scope\"", page);
        Assert.DoesNotContain("=\"/assets", page);
    }

    [Fact]
    public async Task StartsAgainAfterItWasKilled()
    {
        await using var app = await App.StartAsync();
        await app.Client.GetStringAsync("/clrscope/processes");
        var first = ControllerOf(app);
        using (var process = Process.GetProcessById(first)) process.Kill();
        await UntilAsync(() => Task.FromResult(ControllerOf(app) == 0));
        using (var refused = await app.Client.GetAsync("/clrscope/processes"))
        {
            Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);
            Assert.Equal("application/problem+json", refused.Content.Headers.ContentType!.MediaType);
            Assert.Contains("signal 9", await refused.Content.ReadAsStringAsync());
        }
        Assert.Contains("Degraded", await app.Client.GetStringAsync("/healthz"));
        await UntilAsync(async () => (await app.Client.GetAsync("/clrscope/processes")).IsSuccessStatusCode);
        Assert.NotEqual(first, ControllerOf(app));
        Assert.Equal("Healthy", await app.Client.GetStringAsync("/healthz"));
    }

    [Fact]
    public async Task EndsWithTheAppAndTakesItsFolderAlong()
    {
        int pid;
        string folder;
        await using (var app = await App.StartAsync())
        {
            await app.Client.GetStringAsync("/clrscope/processes");
            pid = ControllerOf(app);
            folder = Path.GetDirectoryName(app.Services.GetRequiredService<ClrscopeInside>().Controller.Socket)!;
            Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute, File.GetUnixFileMode(folder));
        }
        Assert.False(Directory.Exists($"/proc/{pid}"));
        Assert.False(Directory.Exists(folder));
    }

    [Fact]
    public async Task FoldersOfKilledAppsAreRemovedAndThoseInUseAreNot()
    {
        var old = Path.Combine(Path.GetTempPath(), "clrscope-app-999999999-old");
        var used = Path.Combine(Path.GetTempPath(), "clrscope-app-999999999-used"); // by an app in another container, say
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        foreach (var folder in (string[])[old, used])
        {
            Directory.CreateDirectory(folder);
            File.Delete(Path.Combine(folder, "s"));
        }
        listener.Bind(new UnixDomainSocketEndPoint(Path.Combine(used, "s")));
        listener.Listen();
        foreach (var folder in (string[])[old, used]) Directory.SetLastWriteTimeUtc(folder, DateTime.UtcNow - TimeSpan.FromHours(1));
        await using var app = await App.StartAsync();
        await app.Client.GetStringAsync("/clrscope/processes");
        Assert.False(Directory.Exists(old));
        Assert.True(Directory.Exists(used));
        listener.Close();
        Directory.Delete(used, recursive: true);
    }

    [Fact]
    public async Task EndsWhenTheAppIsKilled()
    {
        using var app = Process.Start(new ProcessStartInfo(Environment.ProcessPath!, "--app") { RedirectStandardOutput = true })!;
        var address = await app.StandardOutput.ReadLineAsync();
        using (var client = new HttpClient()) await client.GetStringAsync($"{address}clrscope/processes");
        var child = int.Parse(ChildOf(app.Id));
        Assert.True(Directory.Exists($"/proc/{child}"));
        app.Kill();
        app.WaitForExit();
        await UntilAsync(() => Task.FromResult(!Directory.Exists($"/proc/{child}")));
    }

    // A child belongs to the thread that started it.
    static string ChildOf(int pid) =>
        Directory.GetDirectories($"/proc/{pid}/task").Select(t => File.ReadAllText($"{t}/children").Trim()).First(c => c.Length > 0).Split(' ')[0];

    [Fact]
    public async Task OutlivesTheThreadThatAskedFirst()
    {
        await using var app = await App.StartAsync();
        var asker = new Thread(() => app.Services.GetRequiredService<ClrscopeInside>().Controller.ReadyAsync(default).Wait());
        asker.Start();
        asker.Join();
        var pid = ControllerOf(app);
        await app.Client.GetStringAsync("/clrscope/processes");
        Assert.Equal(pid, ControllerOf(app));
    }

    [Theory]
    [InlineData("/nowhere/clrscope", "program /nowhere/clrscope does not exist")]
    [InlineData("/bin/false", "exit code 1")]
    [InlineData("/etc/hostname", "cannot be started")]
    public async Task AProgramThatDoesNotWorkIsAnAnswerAndNotAnException(string program, string told)
    {
        if (program == "/etc/hostname") File.Copy(program, program = Path.GetTempFileName(), overwrite: true); // its mode may be changed
        await using var app = await App.StartAsync(o => o.BinaryPath = program);
        using var answer = await app.Client.GetAsync("/clrscope/processes");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        var problem = await answer.Content.ReadFromJsonAsync<JsonElement>();
        Assert.Contains(told, problem.GetProperty("detail").GetString());
        Assert.Equal("the app itself", await app.Client.GetStringAsync("/"));
        using var soon = await app.Client.GetAsync("/clrscope/processes");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, soon.StatusCode);
        Assert.NotNull(soon.Headers.RetryAfter); // it is not started for every request
    }

    [Theory]
    [InlineData("""{"urls":[{"url":"unix:/tmp/a \"b\"/s","metricsOnly":false},{"url":"http://127.0.0.1:52323","metricsOnly":false}],"open":"http://x/?once=1"}""",
        new[] { "unix:/tmp/a \"b\"/s", "http://127.0.0.1:52323" })]
    [InlineData("""{"url":"http://127.0.0.1:1"}""", new string[0])]
    [InlineData("""{"urls":"http://127.0.0.1:1"}""", new string[0])]
    [InlineData("clrscope: cannot listen", new string[0])]
    [InlineData("", new string[0])]
    public void ReadsTheAddressesOfTheFirstLine(string line, string[] urls) => Assert.Equal(urls, Controller.UrlsIn(line));

    [Fact]
    public async Task OneThatNeverListensIsGivenUp()
    {
        var script = Path.GetTempFileName();
        await File.WriteAllTextAsync(script, "#!/bin/sh\nexec sleep 60\n");
        await using var app = await App.StartAsync(o => (o.BinaryPath, o.StartTimeout) = (script, TimeSpan.FromSeconds(0.5)));
        using var answer = await app.Client.GetAsync("/clrscope/processes");
        Assert.Equal(HttpStatusCode.ServiceUnavailable, answer.StatusCode);
        Assert.Contains("does not listen", await answer.Content.ReadAsStringAsync());
        await UntilAsync(() => Task.FromResult(ControllerOf(app) == 0));
        File.Delete(script);
    }

    [Fact]
    public async Task TrailersComeThroughWhereKestrelCanWriteThem()
    {
        await using var app = await App.StartAsync(build: b => b.WebHost.ConfigureKestrel(k => k.ConfigureEndpointDefaults(e => e.Protocols = HttpProtocols.Http2)));
        using var request = new HttpRequestMessage(HttpMethod.Get, "/clrscope/trace?durationSeconds=1") { Version = HttpVersion.Version20, VersionPolicy = HttpVersionPolicy.RequestVersionExact };
        using var answer = await app.Client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        var trace = await answer.Content.ReadAsByteArrayAsync();
        Assert.Equal("Nettrace"u8.ToArray(), trace[..8]);
        Assert.NotEmpty(answer.TrailingHeaders.GetValues("Clrscope-Ending").Single());
    }

    [Fact]
    public async Task ReadOnlyLooksButDoesNotRecord()
    {
        await using var app = await App.StartAsync(o => o.ReadOnly = true);
        Assert.Equal(HttpStatusCode.OK, (await app.Client.GetAsync("/clrscope/processes")).StatusCode);
        using var request = new HttpRequestMessage(HttpMethod.Get, "/clrscope/env");
        Assert.NotEqual(HttpStatusCode.OK, (await app.Client.SendAsync(request)).StatusCode);
    }
}
