using System.Net;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>An ASP.NET application whose Main waits for its configuration, which never comes: Kestrel is not started. With --healthy it comes.</summary>
static class HungStart
{
    static readonly TaskCompletionSource<string> s_reply = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public static void Run(Stage stage)
    {
        var healthy = stage.Options.Has("healthy");
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(k => k.Listen(IPAddress.Loopback, 0));
        builder.Services.AddRouting();
        using var app = builder.Build();
        // Main never comes back, so another thread minds the end of the run.
        Stage.Start("end", () =>
        {
            stage.WaitForEnd();
            s_reply.TrySetResult("");
        });
        if (healthy) s_reply.SetResult("");
        stage.Ready(new { method = $"{typeof(HungStart).FullName}.{nameof(LoadConfiguration)}", awaits = $"{typeof(HungStart).FullName}.{nameof(AskServer)}", healthy });
        LoadConfiguration();
        app.StartAsync().GetAwaiter().GetResult();
        stage.WaitForEnd();
        app.StopAsync().GetAwaiter().GetResult();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string LoadConfiguration() => AskServer().GetAwaiter().GetResult();

    static async Task<string> AskServer() => await s_reply.Task;
}
