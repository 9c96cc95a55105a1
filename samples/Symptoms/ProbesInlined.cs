using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A method that is certainly inlined into its callers before anybody watches, then called a known number of times.</summary>
static class ProbesInlined
{
    static bool s_inlined;

    public static void Run(Stage stage)
    {
        var calls = stage.Options.Int("calls", 20_000);
        var atOnce = IsInlined(AtOnce);
        var tiered = IsInlined(Tiered);
        stage.Ready(new { atOnce, tiered, method = $"{typeof(InlinedProbed).FullName}.{nameof(InlinedProbed.Tiny)}" });
        stage.WaitForGo();
        var sum = 0;
        for (var i = 0; i < calls; ++i) sum += AtOnce(i) + Tiered(i);
        stage.Done(new { calls = 2L * calls, sum });
    }

    /// <summary>Whether the stack of what Tiny calls begins with its caller. A tiered one is optimized after some calls.</summary>
    static bool IsInlined(Func<int, int> caller)
    {
        for (var begin = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(begin).TotalSeconds < 20; Thread.Sleep(1))
        {
            for (var i = 0; i < 100; ++i) caller(i);
            s_inlined = false;
            caller(-1);
            if (s_inlined) return true;
        }
        return false;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static int AtOnce(int number) => InlinedProbed.Tiny(number) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Tiered(int number) => InlinedProbed.Tiny(number) + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static int Look()
    {
        var above = new StackTrace(1).GetFrame(0)?.GetMethod()?.Name;
        s_inlined = above is nameof(AtOnce) or nameof(Tiered);
        return 0;
    }
}

/// <summary>What is measured.</summary>
static class InlinedProbed
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Tiny(int number) => number < 0 ? ProbesInlined.Look() : number ^ 5;
}
