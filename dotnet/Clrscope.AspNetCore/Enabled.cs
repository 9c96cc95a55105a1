using System.Runtime.CompilerServices;

namespace Clrscope.AspNetCore;

/// <summary>
/// What `clrscope enable` opened in this process, until `disable`: the child controller, and where the app has ASP.NET, a Kestrel of its own framework that forwards
/// to it. One at a time; opening what is open answers what is there.
/// </summary>
internal static class Enabled
{
    static readonly object s_sync = new();
    static Controller? s_controller;
    static IDisposable? s_server;
    static List<(string, string)> s_answer = [];

    public static void Do(string folder)
    {
        try
        {
            lock (s_sync) EnableWish.Answer(folder, EnableWish.Read(folder) is { Action: "open" } wish ? Open(folder, wish) : Close());
        }
        catch (Exception e)
        {
            var told = e as ControllerException ?? e.InnerException as ControllerException;
            TryAnswer(folder, [("state", "failed"), ("error", told?.Message ?? e.Message), ("hint", told?.Hint ?? "")]);
        }
    }

    static void TryAnswer(string folder, List<(string, string)> answer)
    {
        try { EnableWish.Answer(folder, answer); }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { } // the other side says that none came
    }

    static List<(string, string)> Open(string folder, EnableWish wish)
    {
        if (s_controller is { } open)
        {
            if (open.ProcessId != 0) return [("already", "true"), .. s_answer];
            Close(); // it died: anew
        }
        var inside = HasKestrel();
        var http = wish.Urls.Where(u => !u.StartsWith("unix:")).ToList();
        var controller = new Controller(new ControllerSetting
        {
            BinaryPath = wish.Binary,
            WorkingFolder = folder,
            Socket = Path.Combine(folder, "s"),
            Urls = inside ? wish.Urls.Except(http).ToList() : wish.Urls,
            Arguments = wish.Arguments,
        });
        try
        {
            controller.ReadyAsync(CancellationToken.None).GetAwaiter().GetResult();
            s_answer = [("state", "open"), ("inside", inside ? "kestrel" : "child"), ("pid", $"{controller.ProcessId}")];
            if (inside && http.Count > 0) s_answer.AddRange(StartKestrel(controller, http).Select(u => ("url", u)));
            s_controller = controller;
            return s_answer;
        }
        catch
        {
            controller.Dispose();
            throw;
        }
    }

    static List<(string, string)> Close()
    {
        var was = s_controller is not null;
        s_server?.Dispose();
        s_controller?.Dispose();
        (s_server, s_controller, s_answer) = (null, null, []);
        return [("state", "closed"), ("was", was ? "open" : "closed")];
    }

    static bool HasKestrel() =>
        (AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES") as string ?? "").Split(':').Any(p => Path.GetFileName(p) == "Microsoft.AspNetCore.Server.Kestrel.Core.dll");

    // Alone, so that an app without ASP.NET never has to load what it names.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static IReadOnlyList<string> StartKestrel(Controller controller, List<string> urls)
    {
        var server = new InsideServer(controller, urls);
        s_server = server;
        return server.Urls;
    }
}
