using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Text.Json;

namespace Clrscope.AspNetCore;

/// <summary>What went wrong and what to do about it; never thrown into the app.</summary>
internal sealed class ControllerException(string what, string hint = "") : Exception(what)
{
    public string Hint { get; } = hint;
    public TimeSpan RetryAfter { get; set; }
}

internal sealed record ControllerSetting
{
    public string? BinaryPath { get; init; }
    public string? WorkingFolder { get; init; }
    public string? Socket { get; init; } // default: in a private folder
    public IReadOnlyList<string> Urls { get; init; } = []; // beside the private socket
    public IReadOnlyList<string> Arguments { get; init; } = [];
    public TimeSpan StartTimeout { get; init; } = TimeSpan.FromSeconds(10);
}

/// <summary>
/// The controller as a child process: started on the first request, restarted when it dies (with a growing delay if it dies at once), stopped with the app.
/// Knows nothing of ASP.NET, so that it also works in apps that have none. Any thread.
/// </summary>
internal sealed class Controller(ControllerSetting setting, Action<string>? log = null) : IDisposable
{
    static readonly TimeSpan s_healthyLife = TimeSpan.FromSeconds(30);
    static readonly TimeSpan s_longestPause = TimeSpan.FromSeconds(30);

    readonly object _sync = new();
    PrivateFolder? _folder;
    Child? _child;
    int _shortLives;
    long _notBefore;
    string _lastWords = "";
    bool _ended;

    /// <summary>Where it listens; known after the first <see cref="ReadyAsync"/>.</summary>
    public string Socket => setting.Socket ?? _folder?.Socket ?? "";

    /// <summary>Its process id while it runs, else 0.</summary>
    public int ProcessId
    {
        get { lock (_sync) return _child is { HasEnded: false } child ? child.ProcessId : 0; }
    }

    /// <summary>Why it is not there, or nothing: it runs or was never asked for.</summary>
    public string? Trouble
    {
        get { lock (_sync) return _child is { HasEnded: true } ? _lastWords : null; }
    }

    /// <summary>Returns when it listens; starts it if need be. Throws <see cref="ControllerException"/>.</summary>
    public Task ReadyAsync(CancellationToken cancel)
    {
        lock (_sync)
        {
            if (_ended) throw new ControllerException("the app is ending");
            if (!OperatingSystem.IsLinux()) throw new ControllerException("the controller runs on Linux only", "run the app on Linux to use it; the app itself is not affected");
            if (_child is null or { HasEnded: true })
            {
                var wait = TimeSpan.FromMilliseconds(_notBefore - Environment.TickCount64);
                if (wait > TimeSpan.Zero)
                    throw new ControllerException(_lastWords, $"retry after {Math.Ceiling(wait.TotalSeconds)} s") { RetryAfter = wait };
                _folder ??= setting.Socket is null || setting.WorkingFolder is null ? new PrivateFolder() : null;
                _child = new Child(this);
            }
            return _child.Ready.WaitAsync(cancel);
        }
    }

    /// <summary>The addresses it listens on, except the private socket. Call after <see cref="ReadyAsync"/>; waits until the controller has announced them.</summary>
    public IReadOnlyList<string> AnnouncedUrls()
    {
        Child? child;
        lock (_sync) child = _child;
        var line = child is not null && child.Announced.Wait(setting.StartTimeout) ? child.Announced.Result : "";
        return [.. UrlsIn(line).Where(u => u != "unix:" + Socket)];
    }

    /// <summary>The addresses in the line that <c>serve --json</c> prints first: <c>{"urls":[{"url":"…"}]}</c>. None if the line is not that.</summary>
    internal static IReadOnlyList<string> UrlsIn(string line)
    {
        try
        {
            using var announced = JsonDocument.Parse(line);
            return [.. announced.RootElement.GetProperty("urls").EnumerateArray().Select(one => one.GetProperty("url").GetString() ?? "")];
        }
        catch (Exception e) when (e is JsonException or KeyNotFoundException or InvalidOperationException) { return []; }
    }

    /// <summary>Ends it and whoever waits for it; it is not started again.</summary>
    public void Dispose()
    {
        Child? child;
        PrivateFolder? folder;
        lock (_sync)
        {
            _ended = true;
            child = _child;
            folder = _folder;
        }
        child?.End();
        folder?.Dispose();
    }

    // The sooner it died, the longer until the next one.
    void Note(Child child, ControllerException trouble)
    {
        lock (_sync)
        {
            _lastWords = trouble.Message;
            _shortLives = child.Age > s_healthyLife ? 1 : Math.Min(_shortLives + 1, 10);
            trouble.RetryAfter = TimeSpan.FromMilliseconds(Math.Min(250 << (_shortLives - 1), s_longestPause.TotalMilliseconds));
            _notBefore = Environment.TickCount64 + (long)trouble.RetryAfter.TotalMilliseconds;
            if (_ended) return;
        }
        log?.Invoke(trouble.Message);
    }

    /// <summary>One life of it. A thread of its own starts it and stays until it ends: to the kernel the thread is the parent.</summary>
    sealed class Child
    {
        static readonly string[] s_kept = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR"];
        static readonly string[] s_keptPrefixes = ["LC_", "XDG_"];

        readonly Controller _owner;
        readonly TaskCompletionSource _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);
        readonly TaskCompletionSource<string> _announced = new(TaskCreationOptions.RunContinuationsAsynchronously);
        readonly long _born = Stopwatch.GetTimestamp();
        readonly ManualResetEventSlim _over = new();
        volatile bool _ended;

        public Child(Controller owner)
        {
            _owner = owner;
            _ = _ready.Task.ContinueWith(static t => _ = t.Exception, TaskContinuationOptions.OnlyOnFaulted); // nobody may be waiting
            new Thread(Live) { IsBackground = true, Name = "clrscope controller" }.Start();
        }

        public Task Ready => _ready.Task;
        public Task<string> Announced => _announced.Task;
        public TimeSpan Age => Stopwatch.GetElapsedTime(_born);
        public bool HasEnded => _ended;
        public int ProcessId { get; private set; }

        public void End()
        {
            if (ProcessId != 0 && !_ended) Native.AskToEnd(ProcessId);
            if (_over.Wait(TimeSpan.FromSeconds(3)) || ProcessId == 0) return;
            try { Process.GetProcessById(ProcessId).Kill(); }
            catch (Exception e) when (e is ArgumentException or InvalidOperationException or System.ComponentModel.Win32Exception) { }
            _over.Wait(TimeSpan.FromSeconds(2));
        }

        void Live()
        {
            ControllerException trouble;
            try
            {
                using var process = Start();
                trouble = Watch(process);
            }
            catch (Exception e) // whatever it is, it is the controller's and not the app's
            {
                trouble = e as ControllerException ??
                          new ControllerException($"the controller cannot be started: {e.Message}", "check that the program is built for this system and that its folder is not mounted noexec");
            }
            _owner.Note(this, trouble);
            _ended = true;
            _ready.TrySetException(trouble);
            _over.Set();
        }

        Process Start()
        {
            var setting = _owner.Setting;
            var folder = setting.WorkingFolder ?? _owner._folder!.Path;
            Directory.CreateDirectory(folder);
            var socket = _owner.Socket;
            File.Delete(socket); // of one that was killed
            var start = new ProcessStartInfo(NativeProgram.Find(setting.BinaryPath, _owner._folder?.Path ?? folder))
            {
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                WorkingDirectory = folder,
            };
            string[] arguments = ["serve", "--urls", string.Join(',', setting.Urls.Prepend("unix:" + socket)), "--owner", $"{Environment.ProcessId}",
                "--folder", folder, "--json", .. setting.Arguments];
            foreach (var argument in arguments) start.ArgumentList.Add(argument);
            // Nothing of the app's settings: neither what makes a runtime or profiler do things, nor its secrets.
            foreach (var name in start.Environment.Keys.ToList())
                if (!s_kept.Contains(name) && !s_keptPrefixes.Any(name.StartsWith)) start.Environment.Remove(name);
            var process = Process.Start(start) ?? throw new ControllerException($"cannot start {start.FileName}");
            ProcessId = process.Id;
            if (_owner.HasEnded) Native.AskToEnd(process.Id); // meanwhile
            Native.AllowToRead(process.Id);
            process.StandardInput.Close();
            process.OutputDataReceived += (_, line) => _announced.TrySetResult(line.Data ?? ""); // its first line says where it listens
            process.BeginOutputReadLine();
            return process;
        }

        // Returns what it died of, when it is over.
        ControllerException Watch(Process process)
        {
            string said = "", hint = "";
            var giveUp = new StrongBox<bool>();
            new Thread(() => WaitUntilItListens(process, giveUp)) { IsBackground = true, Name = "clrscope start" }.Start();
            while (process.StandardError.ReadLine() is { } line)
            {
                if (line.TrimStart().StartsWith("hint: ")) hint = line.Trim()["hint: ".Length..];
                else if (line.StartsWith("clrscope: ")) said = line["clrscope: ".Length..];
                else if (line.Length > 0) said = line;
            }
            process.WaitForExit();
            if (giveUp.Value) return new ControllerException($"the controller does not listen after {_owner.Setting.StartTimeout.TotalSeconds:0.#} s");
            var code = process.ExitCode > 128 ? $"signal {process.ExitCode - 128}" : $"exit code {process.ExitCode}";
            return new ControllerException($"the controller ended: {(said.Length > 0 && process.ExitCode is > 0 and < 128 ? $"{said} ({code})" : code)}", hint);
        }

        void WaitUntilItListens(Process process, StrongBox<bool> giveUp)
        {
            while (!_ended)
            {
                try
                {
                    using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                    socket.Connect(new UnixDomainSocketEndPoint(_owner.Socket));
                    _ready.TrySetResult();
                    return;
                }
                catch (SocketException) { }
                if (Age > _owner.Setting.StartTimeout)
                {
                    giveUp.Value = true;
                    try { process.Kill(); }
                    catch (Exception e) when (e is InvalidOperationException or System.ComponentModel.Win32Exception) { }
                    return;
                }
                Thread.Sleep(10);
            }
        }
    }

    ControllerSetting Setting => setting;

    bool HasEnded
    {
        get { lock (_sync) return _ended; }
    }
}
