namespace Samples.Symptoms;

/// <summary>Grows by one object at a time: 2000 before ready, then at a rate.</summary>
static class Leak
{
    const int First = 2000;

    public sealed record Truth(string Type, string[] Path);

    public static void Grow(Stage stage, Func<object> add, Truth truth)
    {
        var rate = stage.Options.Number("rate") ?? 1000;
        long count = 0;
        var seen = new WeakReference[First];
        for (; count < First; ++count) seen[count] = new WeakReference(add());
        GC.Collect();
        var aliveAfterGc = seen.Count(s => s.IsAlive);

        stage.Ready(new { type = truth.Type, path = truth.Path, count, aliveAfterGc, perSecond = rate });
        stage.WaitForGo();
        stage.Work("leak", () => stage.Every(rate, () =>
        {
            add();
            ++count;
        }));
        stage.FinishWork();
        stage.Done(new { type = truth.Type, count });
    }
}
