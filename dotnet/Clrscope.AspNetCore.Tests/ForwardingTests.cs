using System.Diagnostics;
using System.Net;
using System.Text;
using Xunit;

namespace Clrscope.AspNetCore.Tests;

/// <summary>The way there and back: pieces as they come, nothing that belongs to one side only.</summary>
public class ForwardingTests(SharedApp shared) : IClassFixture<SharedApp>
{
    static async Task<string> HeadersAsync(App app, Action<HttpRequestMessage>? change = null, string path = "/clrscope/headers/x")
    {
        var asIs = new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true };
        using var request = new HttpRequestMessage(HttpMethod.Get, new Uri(app.Address.GetLeftPart(UriPartial.Authority) + path, asIs));
        change?.Invoke(request);
        using var answer = await app.Client.SendAsync(request);
        return await answer.Content.ReadAsStringAsync();
    }

    [Fact]
    public async Task PiecesComeAsTheyAreMade()
    {
        var app = shared.App;
        var file = Path.GetTempFileName();
        using var answer = await app.Client.GetAsync($"/clrscope/drip?file={file}", HttpCompletionOption.ResponseHeadersRead); // the head comes alone
        Assert.Equal("text/event-stream", answer.Content.Headers.ContentType!.MediaType);
        using var reader = new StreamReader(await answer.Content.ReadAsStreamAsync());
        foreach (var word in (string[])["one", "two", "three"])
        {
            await File.AppendAllTextAsync(file, word + "\n");
            Assert.Equal($"data: {word}", await reader.ReadLineAsync().WaitAsync(TimeSpan.FromSeconds(20)));
            Assert.Equal("", await reader.ReadLineAsync());
        }
        await File.AppendAllTextAsync(file, "end\n");
        Assert.Null(await reader.ReadLineAsync().WaitAsync(TimeSpan.FromSeconds(20)));
        File.Delete(file);
    }

    [Fact]
    public async Task WhoLeavesEndsItForTheController()
    {
        var app = shared.App;
        var file = Path.GetTempFileName();
        using (await app.Client.GetAsync($"/clrscope/drip?file={file}", HttpCompletionOption.ResponseHeadersRead)) { }
        var start = Stopwatch.GetTimestamp();
        while (!File.Exists(file + ".left")) Assert.True(Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(30), "the controller was not told");
        File.Delete(file);
        File.Delete(file + ".left");
    }

    [Fact]
    public async Task BodiesGoUpAsTheyCome()
    {
        var app = shared.App;
        var file = Path.GetTempFileName();
        using var content = new Dripping(file);
        using var request = new HttpRequestMessage(HttpMethod.Post, $"/clrscope/count?file={file}") { Content = content };
        using var answer = await app.Client.SendAsync(request);
        Assert.Equal("40000000", await answer.Content.ReadAsStringAsync()); // more than Kestrel's default limit
        Assert.True(content.WasSeenBeforeItsEnd);
        File.Delete(file);
    }

    sealed class Dripping(string file) : HttpContent
    {
        public bool WasSeenBeforeItsEnd { get; private set; }

        protected override async Task SerializeToStreamAsync(Stream stream, TransportContext? context)
        {
            await stream.WriteAsync(new byte[20_000_000]);
            await stream.FlushAsync();
            var start = Stopwatch.GetTimestamp();
            while (!WasSeenBeforeItsEnd && Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(20)) WasSeenBeforeItsEnd = File.ReadAllText(file) == "20000000";
            await stream.WriteAsync(new byte[20_000_000]);
        }

        protected override bool TryComputeLength(out long length)
        {
            length = 0;
            return false;
        }
    }

    [Fact]
    public async Task PathsAndQueriesStayAsTheyWereAsked()
    {
        var app = shared.App;
        Assert.Contains("target: /headers/a%2Fb/c%20d?q=%2e%2e%2f&r=a+b", await HeadersAsync(app, path: "/clrscope/headers/a%2Fb/c%20d?q=%2e%2e%2f&r=a+b"));
    }

    [Fact]
    public async Task ToldOnlyWhatConcernsIt()
    {
        var app = shared.App;
        var seen = await HeadersAsync(app, r =>
        {
            r.Headers.Add("Authorization", "Bearer secret");
            r.Headers.Add("Cookie", "session=secret");
            r.Headers.Add("X-Clrscope-User", "root");
            r.Headers.Add("x-clrscope-base", "//elsewhere.example");
            r.Headers.Add("X-Clrscope-Caller", "unknown");
            r.Headers.Add("Connection", "X-Mine");
            r.Headers.Add("X-Mine", "1");
            r.Headers.Add("Accept", "text/html");
        });
        Assert.DoesNotContain("secret", seen);
        Assert.DoesNotContain("X-Clrscope-User", seen);
        Assert.DoesNotContain("X-Clrscope-Caller", seen);
        Assert.DoesNotContain("elsewhere", seen);
        Assert.DoesNotContain("X-Mine", seen);
        Assert.DoesNotContain("traceparent", seen);
        Assert.Contains("X-Clrscope-Base: /clrscope", seen);
        Assert.Contains("Accept: text/html", seen);
    }

    [Fact]
    public async Task AnswersComeBackWhole()
    {
        var app = shared.App;
        using var answer = await app.Client.GetAsync("/clrscope/status/418");
        Assert.Equal(418, (int)answer.StatusCode);
        Assert.Equal(["a=1", "b=2"], answer.Headers.GetValues("Set-Cookie"));
        using var head = await app.Client.SendAsync(new HttpRequestMessage(HttpMethod.Head, "/clrscope/headers/x"));
        Assert.Equal(HttpStatusCode.OK, head.StatusCode);
    }

    [Fact]
    public async Task OddCharactersInHeadsAreNoReasonToFail()
    {
        using var client = new HttpClient(new SocketsHttpHandler { RequestHeaderEncodingSelector = (_, _) => Encoding.UTF8 }) { BaseAddress = shared.App.Address };
        using var request = new HttpRequestMessage(HttpMethod.Get, "/clrscope/odd-head");
        request.Headers.TryAddWithoutValidation("X-Odd", "ü");
        using var answer = await client.SendAsync(request);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Matches("^a \\?+ b$", answer.Headers.GetValues("X-Odd").Single());
    }

    static async Task<byte[]> ReadAsync(Stream from, int size)
    {
        var bytes = new byte[size];
        var read = await from.ReadAtLeastAsync(bytes, size, throwOnEndOfStream: false).AsTask().WaitAsync(TimeSpan.FromSeconds(20));
        return bytes[..read];
    }

    [Fact]
    public async Task HalfAnAnswerDoesNotLookWhole()
    {
        await using var app = await App.StartWithStandInAsync();
        var file = Path.GetTempFileName();
        using var answer = await app.Client.GetAsync($"/clrscope/cut?file={file}", HttpCompletionOption.ResponseHeadersRead);
        using var body = await answer.Content.ReadAsStreamAsync();
        Assert.Equal("half", Encoding.ASCII.GetString(await ReadAsync(body, 4)));
        File.Delete(file);
        await Assert.ThrowsAnyAsync<IOException>(() => ReadAsync(body, 1));
    }

    [Fact]
    public async Task TheControllerHasNothingOfTheAppsSettings()
    {
        Environment.SetEnvironmentVariable("ConnectionStrings__Shop", "password");
        Environment.SetEnvironmentVariable("DOTNET_gcServer", "0");
        await using var app = await App.StartWithStandInAsync();
        var names = (await app.Client.GetStringAsync("/clrscope/environment")).Split('\n');
        Assert.DoesNotContain("ConnectionStrings__Shop", names);
        Assert.DoesNotContain("DOTNET_gcServer", names);
        Assert.Contains("PATH", names);
    }

    [Fact]
    public async Task StreamsDoNotHoldUpTheEndOfTheApp()
    {
        var app = await App.StartWithStandInAsync();
        var file = Path.GetTempFileName();
        using var answer = await app.Client.GetAsync($"/clrscope/drip?file={file}", HttpCompletionOption.ResponseHeadersRead);
        var start = Stopwatch.GetTimestamp();
        await app.DisposeAsync();
        Assert.True(Stopwatch.GetElapsedTime(start) < TimeSpan.FromSeconds(10), "the app waited for the stream");
        File.Delete(file);
    }
}
