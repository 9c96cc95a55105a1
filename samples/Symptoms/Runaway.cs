using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A thread spins for a flag that nobody sets.</summary>
static class Runaway
{
    static volatile bool s_done;

    public static void Run(Stage stage)
    {
        var worker = Stage.Start("spinner", WaitForDone);
        stage.Sleep(200);
        stage.Ready(new { thread = worker.Identity, method = $"{typeof(Runaway).FullName}.{nameof(WaitForDone)}" });
        stage.WaitForEnd();
        s_done = true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WaitForDone()
    {
        while (!s_done) { }
    }
}
