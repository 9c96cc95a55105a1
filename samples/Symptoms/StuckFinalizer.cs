using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A finalizer that waits for a reply that never comes, while more objects wait to be finalized. With --healthy it only takes 2 ms.</summary>
static class StuckFinalizer
{
    static readonly ManualResetEventSlim s_never = new(false, 0);
    static readonly ManualResetEventSlim s_entered = new();
    static bool s_healthy;
    static long s_finalized;
    static byte[]? s_last;
    static Thread? s_finalizer;

    sealed class Connection
    {
        ~Connection() => Close();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Close()
        {
            s_finalizer = Thread.CurrentThread;
            s_entered.Set();
            if (!s_healthy) s_never.Wait();
            Thread.Sleep(2);
            Interlocked.Increment(ref s_finalized);
        }
    }

    public static void Run(Stage stage)
    {
        s_healthy = stage.Options.Has("healthy");
        stage.Work("opener", () => stage.Every(20, Open));
        while (!s_entered.IsSet && stage.Sleep(10)) GC.Collect();
        while (!s_healthy && (s_finalizer!.ThreadState & ThreadState.WaitSleepJoin) == 0 && stage.Sleep(10)) { }
        stage.Ready(new { method = "Samples.Symptoms.StuckFinalizer+Connection.Close", openedPerSecond = 20, healthy = s_healthy });
        stage.FinishWork();
        stage.Done(new { finalized = Interlocked.Read(ref s_finalized) });
        if (!s_healthy) s_never.Set();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Open()
    {
        _ = new Connection();
        for (var i = 0; i < 500; ++i) s_last = new byte[1000];
    }
}
