/// <summary>Says on disk that it ran, and which value managed code sees of one environment variable.</summary>
// The runtime looks for this very name, in no namespace.
static class StartupHook
{
    public static void Initialize()
    {
        var marker = Environment.GetEnvironmentVariable("CLRSCOPE_LIVE_HOOK_FILE");
        if (marker is null) return;
        var word = Environment.GetEnvironmentVariable("CLRSCOPE_LIVE_WORD") ?? "(none)";
        File.WriteAllText(marker + ".part", $"Initialize {word}");
        File.Move(marker + ".part", marker, overwrite: true);
    }
}
