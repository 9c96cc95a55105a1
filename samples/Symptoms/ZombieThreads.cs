using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Threads that ended are kept in a list; others are started all the time and wait for a signal that never comes.</summary>
static class ZombieThreads
{
    static readonly List<Thread> s_ended = [];
    static readonly ManualResetEventSlim s_never = new(false, 0);

    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 2;
        for (var i = 0; i < 100; ++i)
        {
            var thread = new Thread(() => { }) { IsBackground = true, Name = $"ended-{i}" };
            thread.Start();
            thread.Join();
            s_ended.Add(thread);
        }
        for (var i = 0; i < 10; ++i) Start();
        stage.Ready(new
        {
            dead = s_ended.Count,
            method = $"{typeof(ZombieThreads).FullName}.{nameof(AwaitReply)}",
            waiting = 10,
            startedPerSecond = rate,
        });
        stage.Work("starter", () => stage.Every(rate, Start));
        stage.Work("collector", () =>
        {
            while (stage.Sleep(500)) GC.Collect();  // it frees those that nobody keeps
        });
        stage.FinishWork();
        GC.KeepAlive(s_ended);
    }

    static void Start() => new Thread(AwaitReply, 256 * 1024) { IsBackground = true, Name = "reply" }.Start();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AwaitReply()
    {
        s_never.Wait();
    }
}
