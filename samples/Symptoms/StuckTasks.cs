namespace Samples.Symptoms;

/// <summary>N tasks wait for a reply nobody will send, while 50 healthy ones a second come and go.</summary>
static class StuckTasks
{
    static readonly Dictionary<int, TaskCompletionSource<string>> s_replies = [];
    static readonly List<Task<string>> s_stuck = [];

    public static void Run(Stage stage)
    {
        var count = stage.Options.Plain(100);
        for (var i = 0; i < count; ++i) s_stuck.Add(AwaitReply(i));
        long finished = 0;
        stage.Work("requests", () => stage.Every(50, () =>
            Quick().ContinueWith(_ => Interlocked.Increment(ref finished), TaskScheduler.Default)));
        stage.Ready(new
        {
            stuck = count,
            method = $"{typeof(StuckTasks).FullName}.{nameof(AwaitReply)}",
            awaits = "TaskCompletionSource",
            healthyPerSecond = 50,
            healthyMethod = $"{typeof(StuckTasks).FullName}.{nameof(Quick)}",
        });
        stage.FinishWork();
        stage.Done(new { stuck = s_stuck.Count(t => !t.IsCompleted), healthyFinished = Interlocked.Read(ref finished) });
    }

    static async Task<string> AwaitReply(int id)
    {
        var reply = s_replies[id] = new TaskCompletionSource<string>();
        return await reply.Task;
    }

    static async Task Quick() => await Task.Delay(5);
}
