using System.Runtime.InteropServices;

namespace Clrscope.AspNetCore;

/// <summary>The few calls of libc that .NET has no words for.</summary>
internal static partial class Native
{
    const int PrSetPtracer = 0x59616d61;
    const int SigTerm = 15;

    /// <summary>Lets one process read this one where Yama lets only ancestors. Without Yama it does nothing.</summary>
    public static void AllowToRead(int pid)
    {
        try { _ = Prctl(PrSetPtracer, pid, 0, 0, 0); }
        catch (Exception e) when (e is DllNotFoundException or EntryPointNotFoundException) { }
    }

    public static void AskToEnd(int pid)
    {
        try { _ = Kill(pid, SigTerm); }
        catch (Exception e) when (e is DllNotFoundException or EntryPointNotFoundException) { }
    }

    public static uint UserId() => GetEuid();

    [LibraryImport("libc", EntryPoint = "prctl")]
    private static partial int Prctl(int option, nint a, nint b, nint c, nint d);

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Kill(int pid, int signal);

    [LibraryImport("libc", EntryPoint = "geteuid")]
    private static partial uint GetEuid();
}
