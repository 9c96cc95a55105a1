using System.Net;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A shop that asks its own stock over HTTP: three quick requests to one slow, and every tenth to a port where nobody listens.</summary>
static class HttpCalls
{
    public static void Run(Stage stage)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        builder.Services.AddRouting();
        using var app = builder.Build();
        app.MapGet("/quick", () => "there");
        app.MapGet("/slow", async () =>
        {
            await Task.Delay(20);
            return "there";
        });
        app.StartAsync().GetAwaiter().GetResult();
        var address = app.Urls.First().Replace("127.0.0.1", "localhost", StringComparison.Ordinal);
        // Bound and never listened at: whoever connects is refused, and nobody else gets the number.
        using var closed = new System.Net.Sockets.Socket(System.Net.Sockets.AddressFamily.InterNetwork, System.Net.Sockets.SocketType.Stream, System.Net.Sockets.ProtocolType.Tcp);
        closed.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        var nobody = $"http://localhost:{((IPEndPoint)closed.LocalEndPoint!).Port}";

        using var client = new HttpClient();
        long quick = 0, slow = 0, refused = 0;
        stage.Ready(new { address, nobody });
        stage.WaitForGo();
        var count = stage.Options.Count("count");
        stage.Work("orders", () =>
        {
            for (long i = 0; i < count && !stage.Ending; ++i)
            {
                if (i % 10 == 9)
                {
                    AskNobody(client, nobody).GetAwaiter().GetResult();
                    ++refused;
                }
                else if (i % 4 == 3)
                {
                    AskSlowly(client, $"{address}/slow?item={i}").GetAwaiter().GetResult();
                    ++slow;
                }
                else
                {
                    AskQuickly(client, $"{address}/quick?item={i}").GetAwaiter().GetResult();
                    ++quick;
                }
            }
        });
        stage.FinishWork();
        stage.Done(new { quick, slow, refused });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task AskQuickly(HttpClient client, string address) => await client.GetStringAsync(address);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task AskSlowly(HttpClient client, string address) => await client.GetStringAsync(address);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task AskNobody(HttpClient client, string address)
    {
        try
        {
            await client.GetStringAsync(address);
        }
        catch (HttpRequestException)
        {
            // expected: nobody is there
        }
    }
}
