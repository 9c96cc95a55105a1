namespace Clrscope.AspNetCore;

/// <summary>A folder that only this user can enter, for the socket; gone with the app. Names tell whose it was, so that the next one sweeps what a killed app left.</summary>
internal sealed class PrivateFolder : IDisposable
{
    const string Prefix = "clrscope-app-";
    const int LongestSocketPath = 107;

    public string Path { get; }
    public string Socket { get; }

    public PrivateFolder()
    {
        var parent = Parent();
        Sweep(parent);
        Path = System.IO.Path.Combine(parent, $"{Prefix}{Environment.ProcessId}-{System.IO.Path.GetRandomFileName()[..8]}");
        Socket = System.IO.Path.Combine(Path, "s");
        Directory.CreateDirectory(Path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
    }

    // The kernel takes short socket paths only: with a long TMPDIR it has to be /tmp.
    static string Parent()
    {
        var temporary = System.IO.Path.GetTempPath();
        return temporary.Length + Prefix.Length + 24 <= LongestSocketPath ? temporary : "/tmp";
    }

    static void Sweep(string parent)
    {
        try
        {
            foreach (var folder in Directory.EnumerateDirectories(parent, Prefix + "*"))
            {
                var pid = System.IO.Path.GetFileName(folder)[Prefix.Length..].Split('-')[0];
                // In a container every app may be process 1: our own number and not made by us is an old one's, too.
                if (!Directory.Exists($"/proc/{pid}") || (pid == $"{Environment.ProcessId}" && Made.IsOld(folder))) Remove(folder);
            }
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { }
    }

    static void Remove(string folder)
    {
        try { Directory.Delete(folder, recursive: true); }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { } // another user's, or gone already
    }

    public void Dispose() => Remove(Path);

    static class Made
    {
        static readonly DateTime s_started = System.Diagnostics.Process.GetCurrentProcess().StartTime.ToUniversalTime();

        public static bool IsOld(string folder) => Directory.GetCreationTimeUtc(folder) < s_started - TimeSpan.FromSeconds(2);
    }
}
