using System.Net.Sockets;

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
                if (IsLeftBehind(folder)) Remove(folder);
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { }
    }

    // Numbers alone do not tell: containers may share the folder and not the numbers. Nobody listens there, and not just because it is about to.
    static bool IsLeftBehind(string folder)
    {
        var pid = System.IO.Path.GetFileName(folder)[Prefix.Length..].Split('-')[0];
        if (pid != $"{Environment.ProcessId}" && Directory.Exists($"/proc/{pid}")) return false;
        if (Directory.GetLastWriteTimeUtc(folder) > DateTime.UtcNow - TimeSpan.FromMinutes(1)) return false;
        try
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            socket.Connect(new UnixDomainSocketEndPoint(System.IO.Path.Combine(folder, "s")));
            return false;
        }
        catch (SocketException e) { return e.SocketErrorCode is SocketError.ConnectionRefused or SocketError.AddressNotAvailable; }
    }

    static void Remove(string folder)
    {
        try { Directory.Delete(folder, recursive: true); }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException) { } // another user's, or gone already
    }

    public void Dispose() => Remove(Path);
}
