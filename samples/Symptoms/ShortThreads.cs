using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Starts a thread for every job; most end at once, every tenth stays.</summary>
static class ShortThreads
{
    static readonly ManualResetEventSlim s_end = new(false, 0);

    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 100;
        var count = stage.Options.Count("count");
        long started = 0;
        stage.Ready(new
        {
            perSecond = rate,
            startedBy = $"{typeof(ShortThreads).FullName}.{nameof(StartJob)}",
        });
        stage.WaitForGo();
        stage.Work("starter", () => stage.Every(rate, () => StartJob(++started), count));
        stage.FinishWork();
        stage.Done(new { started, ended = started - started / 10, running = started / 10 });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void StartJob(long number)
    {
        var stays = number % 10 == 0;
        var thread = new Thread(() => { if (stays) s_end.Wait(); }, 256 * 1024) { IsBackground = true, Name = $"job-{number}" };
        thread.Start();
        if (!stays) thread.Join();
    }
}
