using System.Diagnostics;
using Microsoft.AspNetCore.Http.Features;

namespace Clrscope.AspNetCore.Tests;

/// <summary>
/// Takes the place of the native program where a test needs answers that it gives only at times: this very executable, told to "serve". It speaks real HTTP on the
/// real socket; what is tested is the way there and back.
/// </summary>
static class StandIn
{
    public static async Task<int> RunAsync(string[] args)
    {
        var socket = args[Array.IndexOf(args, "--urls") + 1].Split(',')[0]["unix:".Length..];
        var builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(k =>
        {
            k.Limits.MaxRequestBodySize = null;
            k.ResponseHeaderEncodingSelector = _ => System.Text.Encoding.UTF8;
            k.ListenUnixSocket(socket);
        });
        var app = builder.Build();

        app.Map("/headers/{**rest}", (HttpContext c) => string.Join('\n', c.Request.Headers.Select(h => $"{h.Key}: {h.Value}")
            .Prepend($"target: {c.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget}")));
        app.MapGet("/environment", () => string.Join('\n', Environment.GetEnvironmentVariables().Keys.Cast<string>()));
        // A piece whenever the test writes a line to the file, so that nobody has to sleep.
        app.MapGet("/drip", async (HttpContext c, string file) =>
        {
            c.Response.ContentType = "text/event-stream";
            await c.Response.Body.FlushAsync();
            var sent = 0;
            try
            {
                while (true)
                {
                    var lines = File.ReadAllLines(file);
                    foreach (var line in lines.Skip(sent))
                    {
                        if (line == "end") return;
                        await c.Response.WriteAsync($"data: {line}\n\n", c.RequestAborted);
                        await c.Response.Body.FlushAsync(c.RequestAborted);
                    }
                    sent = lines.Length;
                    await Task.Delay(5, c.RequestAborted);
                }
            }
            catch (OperationCanceledException) { File.WriteAllText(file + ".left", "the client left"); }
        });
        app.MapPost("/count", async (HttpContext c) =>
        {
            long bytes = 0;
            var piece = new byte[1 << 16];
            while (await c.Request.Body.ReadAsync(piece) is > 0 and var size)
            {
                bytes += size;
                if (c.Request.Query["file"] is [{ } file]) File.WriteAllText(file, $"{bytes}");
            }
            return $"{bytes}";
        });
        // Dies in the middle, once that has been seen.
        app.MapGet("/cut", async (HttpContext c, string file) =>
        {
            await c.Response.WriteAsync("half");
            await c.Response.Body.FlushAsync();
            while (File.Exists(file)) await Task.Delay(5);
            Process.GetCurrentProcess().Kill();
        });
        app.MapGet("/odd-head", (HttpContext c) =>
        {
            c.Response.Headers["X-Odd"] = "a µ b";
            return "odd";
        });
        app.MapGet("/status/{code:int}", (HttpContext c, int code) =>
        {
            c.Response.StatusCode = code;
            c.Response.Headers.Connection = "X-Only-Here";
            c.Response.Headers["X-Only-Here"] = "1";
            c.Response.Headers.SetCookie = (string[])["a=1", "b=2"];
        });
        await app.RunAsync();
        return 0;
    }
}
