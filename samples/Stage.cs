using System.Runtime.InteropServices;
using System.Text.Encodings.Web;
using System.Text.Json;

namespace Samples;

/// <summary>
/// The life of one run: options, the ready and done lines on stdout, and when to end
/// (SIGTERM, Ctrl+C, --seconds after ready, end of stdin with --until-eof).
/// Uses neither the thread pool nor timers, so that it works when these are the symptom.
/// </summary>
sealed class Stage : IDisposable
{
    static readonly JsonSerializerOptions Json = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    readonly Symptom _symptom;
    readonly ManualResetEventSlim _end = new();
    readonly ManualResetEventSlim _wake = new();  // the end, or all workers are through
    readonly ManualResetEventSlim _go = new();
    readonly List<Worker> _workers = [];
    readonly PosixSignalRegistration[] _signals;
    readonly double? _seconds;
    long _readyAt = Environment.TickCount64;
    int _working;
    volatile bool _ending;

    public Stage(Symptom symptom, string[] args)
    {
        _symptom = symptom;
        Options = new Options(symptom, args);
        ExitCode = Options.Int("exit-code", 0);
        Stay = Options.Has("stay");
        _seconds = Options.Number("seconds");
        _signals = [.. new[] { PosixSignal.SIGTERM, PosixSignal.SIGINT }.Select(s => PosixSignalRegistration.Create(s, OnSignal))];
        if (Options.Has("until-eof") || Options.Has("wait-line"))
            new Thread(ReadInput) { IsBackground = true, Name = "stdin" }.Start();
        if (!Options.Has("wait-line")) _go.Set();
    }

    public Options Options { get; }
    public int ExitCode { get; }
    public bool Stay { get; }
    public bool Ending => _ending;

    /// <summary>Says that the symptom is there, and what is true about it.</summary>
    public void Ready(object truth)
    {
        Say(new { ready = true, symptom = _symptom.Name, pid = Environment.ProcessId, runtime = Environment.Version.ToString(), truth });
        _readyAt = Environment.TickCount64;
    }

    /// <summary>With --wait-line: holds until a line arrives on stdin, so that a test can attach before anything counts.</summary>
    public void WaitForGo()
    {
        while (!_go.Wait(50) && !Late()) { }
    }

    /// <summary>Says what has been true in the end.</summary>
    public void Done(object truth) => Say(new { done = true, symptom = _symptom.Name, pid = Environment.ProcessId, truth });

    public void End()
    {
        _ending = true;
        _end.Set();
        _wake.Set();
        _go.Set();
    }

    /// <summary>Waits for the end of the run.</summary>
    public void WaitForEnd()
    {
        if (!_end.Wait(TimeLeft())) End();
    }

    /// <summary>Waits a little; false when the run ends.</summary>
    public bool Sleep(int milliseconds) => !_end.Wait(milliseconds);

    /// <summary>As Sleep, for the main thread: it also minds --seconds.</summary>
    public bool Pause(int milliseconds)
    {
        Sleep(milliseconds);
        return !Late();
    }

    /// <summary>Does something so many times a second, until it has been done often enough or the run ends.</summary>
    public void Every(double perSecond, Action act, long times = long.MaxValue)
    {
        var pace = new Pace(perSecond);
        do
        {
            for (var due = pace.Due(); due > 0 && times > 0 && !_ending; --due, --times) act();
        } while (times > 0 && Sleep(5));
    }

    /// <summary>Starts a background thread that <see cref="FinishWork"/> does not wait for.</summary>
    public static Worker Start(string name, Action body) => new(name, body);

    /// <summary>Starts a thread that ends by itself or soon after <see cref="Ending"/>.</summary>
    public Worker Work(string name, Action body)
    {
        Interlocked.Increment(ref _working);
        var worker = new Worker(name, () =>
        {
            body();
            if (Interlocked.Decrement(ref _working) == 0) _wake.Set();
        });
        _workers.Add(worker);
        return worker;
    }

    /// <summary>Waits until all workers are through, or ends them when the run ends.</summary>
    public void FinishWork()
    {
        if (!_wake.Wait(TimeLeft())) End();
        foreach (var worker in _workers) worker.Thread.Join();
    }

    public void Dispose()
    {
        foreach (var signal in _signals) signal.Dispose();
    }

    bool Late()
    {
        if (!_ending && TimeLeft() == 0) End();
        return _ending;
    }

    int TimeLeft() => _seconds is { } s ? (int)Math.Clamp(_readyAt + s * 1000 - Environment.TickCount64, 0, int.MaxValue) : -1;

    void OnSignal(PosixSignalContext context)
    {
        context.Cancel = true;  // the run ends in order, with its own exit code
        End();
    }

    void ReadInput()
    {
        while (Console.In.ReadLine() is not null) _go.Set();
        if (Options.Has("until-eof")) End();
    }

    /// <summary>A line on stdout, also beside the ready and done lines.</summary>
    public static void Say(object line)
    {
        Console.Out.WriteLine(JsonSerializer.Serialize(line, Json));
        Console.Out.Flush();
    }
}

/// <summary>A background thread whose operating system id is known as soon as it is constructed.</summary>
sealed class Worker
{
    public Worker(string name, Action body)
    {
        using var started = new ManualResetEventSlim();
        Thread = new Thread(() =>
        {
            OsId = Os.ThreadId();
            started.Set();
            body();
        })
        { IsBackground = true, Name = name };
        Thread.Start();
        started.Wait();
    }

    public Thread Thread { get; }
    public int OsId { get; private set; }
    public bool Blocked => (Thread.ThreadState & ThreadState.WaitSleepJoin) != 0;
    public object Identity => new { osId = OsId, managedId = Thread.ManagedThreadId, name = Thread.Name };

    /// <summary>Waits until all are blocked and stay so.</summary>
    public static void AwaitBlocked(IReadOnlyCollection<Worker> workers)
    {
        for (var calm = 0; calm < 10; Thread.Sleep(10)) calm = workers.All(w => w.Blocked) ? calm + 1 : 0;
    }
}
