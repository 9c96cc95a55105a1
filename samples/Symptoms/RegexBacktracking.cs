using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;

namespace Samples.Symptoms;

/// <summary>A regular expression that tries every way to split its text. With --healthy: many texts, each matched in no time.</summary>
static class RegexBacktracking
{
    const string Pattern = "^(\\w+\\s?)*$";
    static readonly Regex s_names = new(Pattern);
    static long s_matched;

    public static void Run(Stage stage)
    {
        var healthy = stage.Options.Has("healthy");
        var worker = healthy ? stage.Work("validator", () => CheckMany(stage)) : Stage.Start("validator", CheckOne);
        stage.Ready(new
        {
            pattern = Pattern,
            thread = worker.Identity,
            method = $"{typeof(RegexBacktracking).FullName}.{nameof(IsName)}",
            healthy,
        });
        stage.WaitForEnd();
        if (healthy) stage.FinishWork();
    }

    static void CheckOne() => IsName(string.Concat(Enumerable.Repeat("abcdefghij", 8)) + "!");

    static void CheckMany(Stage stage)
    {
        for (var i = 0; !stage.Ending; i = (i + 1) % 1_000_000) if (IsName($"order {i}")) Interlocked.Increment(ref s_matched);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool IsName(string text)
    {
        var matches = s_names.IsMatch(text);
        GC.KeepAlive(text);
        return matches;
    }
}
