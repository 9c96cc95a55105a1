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
    static bool s_watchesEnd;

    public static void Do(string folder)
    {
        try
        {
            var request = EnableRequest.Read(folder);
            if (request.Command == "requests")
            {
                RequestHelper.Start(request.Api);
                EnableRequest.Answer(folder, [("requests", "ready")]);
                return;
            }
            lock (s_sync) EnableRequest.Answer(folder, request.Action == "open" ? Open(folder, request) : Close(folder));
        }
        catch (Exception e)
        {
            var told = e as ControllerException ?? e.InnerException as ControllerException;
            TryAnswer(folder, [("state", "failed"), ("error", told?.Message ?? e.Message), ("hint", told?.Hint ?? "")]);
        }
    }

    static void TryAnswer(string folder, List<(string, string)> answer)
    {
        try { EnableRequest.Answer(folder, answer); }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { } // the other side says that none came
    }

    static List<(string, string)> Open(string folder, EnableRequest request)
    {
        if (s_controller is { } open)
        {
            if (open.ProcessId != 0) return [("already", "true"), .. s_answer];
            Stop(); // it died: anew
        }
        var inside = HasKestrel();
        var http = request.Urls.Where(u => !u.StartsWith("unix:")).ToList();
        var controller = new Controller(new ControllerSetting
        {
            BinaryPath = request.Binary,
            WorkingFolder = folder,
            Socket = Path.Combine(folder, "s"),
            Urls = inside ? request.Urls.Except(http).ToList() : request.Urls,
            Arguments = request.Arguments,
        });
        try
        {
            controller.ReadyAsync(CancellationToken.None).GetAwaiter().GetResult();
            s_answer = [("state", "open"), ("inside", inside ? "kestrel" : "child"), ("pid", $"{controller.ProcessId}")];
            if (inside && http.Count > 0) s_answer.AddRange(StartKestrel(controller, http).Select(u => ("url", u)));
            if (!inside || http.Count < request.Urls.Count) s_answer.AddRange(controller.AnnouncedUrls().Select(u => ("url", u)));
            s_controller = controller;
            if (!s_watchesEnd) AppDomain.CurrentDomain.ProcessExit += (_, _) => AtEnd(folder);
            s_watchesEnd = true;
            return s_answer;
        }
        catch
        {
            controller.Dispose();
            Clear(folder);
            throw;
        }
    }

    static List<(string, string)> Close(string folder)
    {
        var was = s_controller is not null;
        Stop();
        Clear(folder);
        return [("state", "closed"), ("was", was ? "open" : "closed")];
    }

    static void Stop()
    {
        s_server?.Dispose();
        s_controller?.Dispose();
        (s_server, s_controller, s_answer) = (null, null, []);
    }

    // What the controller kept there; the folder itself belongs to the other side.
    static void Clear(string folder)
    {
        try
        {
            foreach (var file in Directory.EnumerateFiles(folder).Where(f => Path.GetFileName(f) is not ("request" or "answer") && !f.EndsWith(".dll"))) File.Delete(file);
            foreach (var inner in Directory.EnumerateDirectories(folder)) Directory.Delete(inner, recursive: true);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { }
    }

    static void AtEnd(string folder)
    {
        if (s_controller is null) return;
        s_controller.Dispose();
        try { Directory.Delete(folder, recursive: true); }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { }
    }

    internal static bool HasKestrel() =>
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
