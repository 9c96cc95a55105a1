using System.Diagnostics;
using System.Net;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Samples.Symptoms;

/// <summary>Kestrel on a loopback port of its choice; one endpoint per symptom. No configuration, no console log.</summary>
static class Web
{
    static readonly object s_lock = new();
    static object? s_last;
    static TaskCompletionSource s_gate = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public static void Run(Stage stage)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        var protocols = stage.Options.Has("http2") ? HttpProtocols.Http2 : HttpProtocols.Http1;
        builder.WebHost.UseKestrelCore().ConfigureKestrel(k => k.Listen(IPAddress.Loopback, stage.Options.Int("port", 0), listen => listen.Protocols = protocols));
        builder.Services.AddRouting();
        if (!stage.Options.Has("no-logging")) builder.Logging.AddEventSourceLogger(); // which gives every request an Activity
        using var app = builder.Build();

        app.MapGet("/plaintext", () => "Hello, World!");
        app.MapGet("/json", () => new { message = "Hello, World!" });
        app.MapGet("/cpu", (int? ms) => Burn(ms ?? 20));
        app.MapGet("/alloc", (int? kb) => Allocate(kb ?? 1000));
        app.MapGet("/throw", () => Fail());
        app.MapGet("/lock", (int? ms) => HoldLock(ms ?? 5));
        app.MapGet("/async", async (int? ms) => await LoadPage(ms ?? 20));
        app.MapGet("/sync-over-async", (int? ms) => LoadPage(ms ?? 50).Result);
        app.MapGet("/slow", async (int? ms) =>
        {
            await Task.Delay(ms ?? 1000);
            return "slow";
        });
        app.MapGet("/orders/{id}", async (int id) => await PlaceOrder(id)).WithDisplayName("place an order");
        app.MapPost("/orders/{id}/invoice", (int id) => WriteInvoice(id));
        app.MapGet("/open", () => OpenGate());
        app.MapGet("/log", (ILogger<Stage> log, string? text) =>
        {
            log.LogInformation("asked to say {Text}", text ?? "nothing");
            return "logged";
        });

        app.StartAsync().GetAwaiter().GetResult();
        stage.Ready(new
        {
            address = app.Urls.First(),
            endpoints = new[] { "/plaintext", "/json", "/cpu?ms=", "/alloc?kb=", "/throw", "/lock?ms=", "/async?ms=", "/sync-over-async?ms=", "/slow?ms=", "/open", "/log?text=" },
            gated = new[] { "/orders/ID", "/orders/ID/invoice" },
        });
        stage.WaitForEnd();
        using var grace = new CancellationTokenSource(TimeSpan.FromSeconds(1));
        app.StopAsync(grace.Token).GetAwaiter().GetResult();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Burn(int ms)
    {
        var start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start).TotalMilliseconds < ms) { }
        return "burnt";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Allocate(int kb)
    {
        for (var i = 0; i < kb; ++i) s_last = new byte[1000];
        return "allocated";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Fail() => throw new OrderRejectedException("order rejected: no stock");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string HoldLock(int ms)
    {
        lock (s_lock) Thread.Sleep(ms);
        return "held";
    }

    static async Task<string> LoadPage(int ms)
    {
        await ReadRow(ms);
        return "loaded";
    }

    static async Task ReadRow(int ms) => await Task.Delay(ms);

    // Orders wait until the gate opens: asynchronously, and with a thread.
    static async Task<string> PlaceOrder(int id)
    {
        await ReserveStock(id);
        return "placed";
    }

    static async Task ReserveStock(int id)
    {
        await s_gate.Task;
        GC.KeepAlive(id);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string WriteInvoice(int id)
    {
        s_gate.Task.Wait();
        return $"invoice {id}";
    }

    static string OpenGate()
    {
        Interlocked.Exchange(ref s_gate, new(TaskCreationOptions.RunContinuationsAsynchronously)).SetResult();
        return "open";
    }
}
