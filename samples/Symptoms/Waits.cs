using System.Diagnostics;
using System.IO.MemoryMappedFiles;
using System.IO.Pipes;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>A thread for each thing there is to wait for, over and over: a lock, sleep, a pipe, a signal, a collection, a page of a file, a processor.</summary>
static class Waits
{
    const int Page = 4096;
    const int FilePages = 2048;

    static readonly Ledger s_lock = new();
    static object? s_kept;
    static long s_locked, s_slept, s_read, s_signalled, s_collected, s_touched, s_burned;

    public static void Run(Stage stage)
    {
        using var signal = new AutoResetEvent(false);
        using var server = new AnonymousPipeServerStream(PipeDirection.Out);
        using var client = new AnonymousPipeClientStream(PipeDirection.In, server.ClientSafePipeHandle);
        var list = new List<object>();
        for (var i = 0; i < 200_000; ++i) list.Add(new object[1]);
        s_kept = list;

        for (var i = 0; i < 2; ++i) stage.Work($"locker-{i}", () => stage.Every(50, AtLock));
        stage.Work("sleeper", () => { while (!stage.Ending) AtSleep(); });
        stage.Work("reader", () => { while (AtRead(client)) { } });
        stage.Work("signalled", () => { while (!stage.Ending) AtSignal(signal); });
        stage.Work("feeder", () =>
        {
            stage.Every(50, () =>
            {
                server.WriteByte(1);
                signal.Set();
            });
            server.Dispose();  // the reader ends
        });
        stage.Work("collector", () => stage.Every(20, Collect));
        var folder = Path.GetTempPath();
        stage.Work("toucher", () => TouchFile(stage, folder));
        // One more than there are processors, all at once for a while.
        for (var i = 0; i <= Environment.ProcessorCount; ++i) stage.Work($"burner-{i}", () => stage.Every(10, AtWork));
        while (Interlocked.Read(ref s_collected) < 5 && stage.Sleep(10)) { }
        stage.Ready(new
        {
            methods = new
            {
                @lock = Name(nameof(AtLock)),
                sleep = Name(nameof(AtSleep)),
                io = Name(nameof(AtRead)),
                @event = Name(nameof(AtSignal)),
                pageFault = Name(nameof(AtFault)),
                work = Name(nameof(AtWork)),
            },
            processors = Environment.ProcessorCount,
        });
        stage.FinishWork();
        stage.Done(new { locked = s_locked, slept = s_slept, read = s_read, signalled = s_signalled, collected = s_collected, touched = s_touched, burned = s_burned });
    }

    static string Name(string method) => $"{typeof(Waits).FullName}.{method}";

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AtLock()
    {
        lock (s_lock)
        {
            ++s_locked;
            Thread.Sleep(15);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AtSleep()
    {
        Thread.Sleep(10);
        ++s_slept;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static bool AtRead(Stream from)
    {
        if (from.ReadByte() < 0) return false;
        ++s_read;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AtSignal(AutoResetEvent signal)
    {
        if (signal.WaitOne(200)) ++s_signalled;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Collect()
    {
        GC.Collect(2, GCCollectionMode.Forced, blocking: true);
        Interlocked.Increment(ref s_collected);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AtWork()
    {
        var value = 1u;
        var start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start).TotalMilliseconds < 20)
            for (var i = 0; i < 1000; ++i) value = (value ^ (value >> 13)) * 0x9E3779B1;
        GC.KeepAlive(value);
        Interlocked.Increment(ref s_burned);
    }

    // Pages of a file that the kernel has been asked to forget: each touch is a fault that reads the disk.
    static unsafe void TouchFile(Stage stage, string folder)
    {
        var path = Path.Combine(folder, $"samples-waits-{Environment.ProcessId}");
        using var file = new FileStream(path, FileMode.Create, FileAccess.ReadWrite, FileShare.None, Page, FileOptions.DeleteOnClose);
        var page = new byte[Page];
        for (var i = 0; i < FilePages; ++i) file.Write(page);
        file.Flush(flushToDisk: true);
        var handle = (int)file.SafeFileHandle.DangerousGetHandle();
        while (!stage.Ending)
        {
            _ = posix_fadvise(handle, 0, 0, 4);  // POSIX_FADV_DONTNEED
            using var mapped = MemoryMappedFile.CreateFromFile(file, null, 0, MemoryMappedFileAccess.Read, HandleInheritability.None, leaveOpen: true);
            using var view = mapped.CreateViewAccessor(0, 0, MemoryMappedFileAccess.Read);
            byte* bytes = null;
            view.SafeMemoryMappedViewHandle.AcquirePointer(ref bytes);
            _ = madvise(bytes, (nuint)FilePages * Page, 1);  // MADV_RANDOM: no reading ahead
            for (var i = 0; i < 64 && !stage.Ending; ++i) AtFault(bytes + (long)(i * 31 % FilePages) * Page);
            view.SafeMemoryMappedViewHandle.ReleasePointer();
            stage.Sleep(20);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe void AtFault(byte* at)
    {
        s_touched += Volatile.Read(ref *at) + 1;
    }

    [DllImport("libc")]
    static extern int posix_fadvise(int file, long offset, long length, int advice);

    [DllImport("libc")]
    static extern unsafe int madvise(byte* at, nuint length, int advice);
}
