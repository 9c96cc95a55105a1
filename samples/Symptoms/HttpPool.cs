using System.Net;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Thirty callers share two connections to a server that takes 50 ms. With --healthy there is a connection for each.</summary>
static class HttpPool
{
    const int Callers = 30;

    public static void Run(Stage stage)
    {
        var healthy = stage.Options.Has("healthy");
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        builder.Services.AddRouting();
        using var app = builder.Build();
        app.MapGet("/slow", async () =>
        {
            await Task.Delay(50);
            return "there";
        });
        app.StartAsync().GetAwaiter().GetResult();
        var address = app.Urls.First() + "/slow";
        using var client = new HttpClient(new SocketsHttpHandler { MaxConnectionsPerServer = healthy ? 100 : 2 });
        var callers = Enumerable.Range(0, Callers).Select(_ => Call(stage, client, address)).ToArray();
        stage.Sleep(500);
        stage.Ready(new { address, callers = Callers, connections = healthy ? Callers : 2, healthy });
        stage.WaitForEnd();
        Task.WhenAll(callers).GetAwaiter().GetResult();
        app.StopAsync().GetAwaiter().GetResult();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task Call(Stage stage, HttpClient client, string address)
    {
        await Task.Yield();
        while (!stage.Ending) await client.GetStringAsync(address);
    }
}
