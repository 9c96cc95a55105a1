using System.Net;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A shop that asks a slow stock over HTTP. With --healthy the stock answers soon.</summary>
static class SlowHttp
{
    const int SlowMs = 700;
    const int QuickMs = 5;

    public static void Run(Stage stage)
    {
        var healthy = stage.Options.Has("healthy");
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        builder.Services.AddRouting();
        using var app = builder.Build();
        app.MapGet("/price", () => "7");
        app.MapGet("/stock", async () =>
        {
            await Task.Delay(healthy ? QuickMs : SlowMs);
            return "there";
        });
        app.StartAsync().GetAwaiter().GetResult();
        var address = app.Urls.First();
        using var client = new HttpClient();
        Task[] callers = [AskStock(stage, client, address), AskStock(stage, client, address), AskPrice(stage, client, address)];
        stage.Sleep(500);
        stage.Ready(new { address, slow = address + "/stock", method = $"{typeof(SlowHttp).FullName}.{nameof(LoadStock)}", durationMs = healthy ? QuickMs : SlowMs, healthy });
        stage.WaitForEnd();
        Task.WhenAll(callers).GetAwaiter().GetResult();
        app.StopAsync().GetAwaiter().GetResult();
    }

    static async Task AskStock(Stage stage, HttpClient client, string address)
    {
        await Task.Yield();
        for (var item = 0; !stage.Ending; ++item)
        {
            await LoadStock(client, $"{address}/stock?item={item}");
            await Task.Delay(20);
        }
    }

    static async Task AskPrice(Stage stage, HttpClient client, string address)
    {
        await Task.Yield();
        while (!stage.Ending)
        {
            await LoadPrice(client, address + "/price");
            await Task.Delay(20);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> LoadStock(HttpClient client, string address) => await client.GetStringAsync(address);

    [MethodImpl(MethodImplOptions.NoInlining)]
    static async Task<string> LoadPrice(HttpClient client, string address) => await client.GetStringAsync(address);
}
