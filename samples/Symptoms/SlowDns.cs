using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>
/// Names that a slow server looks up: the server is a thread of this program on a loopback address, and the thread that asks it
/// has an /etc/resolv.conf of its own. Needs root. With --healthy the server answers at once.
/// </summary>
static partial class SlowDns
{
    const string Name = "stock.shop.test";
    const int SlowMs = 300;
    // Of its own, so that several of them can run.
    static readonly string s_server = $"127.53.{Environment.ProcessId >> 8 & 255}.{Environment.ProcessId & 255 | 1}";
    const int NewMounts = 0x20000, Bind = 0x1000, Private = 0x40000, Recursive = 0x4000;

    [LibraryImport("libc", SetLastError = true)]
    private static partial int unshare(int flags);

    [LibraryImport("libc", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int mount(string source, string target, string? type, ulong flags, nint data);

    public static void Run(Stage stage)
    {
        var delay = stage.Options.Has("healthy") ? 0 : SlowMs;
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        try
        {
            socket.Bind(new IPEndPoint(IPAddress.Parse(s_server), 53));
        }
        catch (SocketException e)
        {
            Refuse(e.Message);
        }
        Stage.Start("server", () => Answer(socket, delay));
        using var asked = new ManualResetEventSlim();
        stage.Work("orders", () =>
        {
            UseOwnServer();
            while (!stage.Ending)
            {
                FindStock();
                asked.Set();
                stage.Sleep(50);
            }
        });
        asked.Wait();
        stage.Ready(new { name = Name, method = $"{typeof(SlowDns).FullName}.{nameof(FindStock)}", durationMs = delay });
        stage.FinishWork();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static IPAddress[] FindStock() => Dns.GetHostAddresses(Name, AddressFamily.InterNetwork);

    // For this thread only: the resolver runs on the thread that asks.
    static void UseOwnServer()
    {
        var file = Path.GetTempFileName();
        File.WriteAllText(file, $"nameserver {s_server}\noptions timeout:5\n");
        if (unshare(NewMounts) != 0 || mount("none", "/", null, Private | Recursive, 0) != 0 ||
            mount(file, "/etc/resolv.conf", null, Bind, 0) != 0)
            Refuse(Marshal.GetLastPInvokeErrorMessage());
    }

    static void Refuse(string why)
    {
        Console.Error.WriteLine($"slow-dns: {why}");
        Environment.Exit(ExitCode.Unsupported);
    }

    // The question comes back with one address.
    static void Answer(Socket socket, int delay)
    {
        var question = new byte[512];
        EndPoint from = new IPEndPoint(IPAddress.Any, 0);
        while (true)
        {
            var length = socket.ReceiveFrom(question, ref from);
            Thread.Sleep(delay);
            byte[] answer = [.. question[..length], 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1];
            answer[2] |= 0x80;  // it is an answer
            answer[7] = 1;      // with one record
            answer[10] = answer[11] = 0;
            socket.SendTo(answer, from);
        }
    }
}
