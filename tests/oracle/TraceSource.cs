// Opens a trace with every parser registered whose event names we compare, and runs it to the end or the damage.

using System.Runtime.CompilerServices;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

namespace Clrscope.Oracle;

internal static class TraceSource
{
    private const int GcDynamicId = 39;
    private const int FirstInventedId = 0xff00;

    public static EventPipeEventSource Open(string file)
    {
        var source = new EventPipeEventSource(file);

        // A template is registered only when somebody subscribes; AllEvents then sees each event once, named by it.
        static void Ignore(TraceEvent data) { }
        source.Clr.All += Ignore;
        new ClrRundownTraceEventParser(source).All += Ignore;
        new SampleProfilerTraceEventParser(source).All += Ignore;
        source.Dynamic.All += Ignore;
        return source;
    }

    /// <summary>Runs to the end; returns null, or what stopped TraceEvent.</summary>
    public static string? Process(EventPipeEventSource source)
    {
        try
        {
            source.Process();
            return null;
        }
        catch (Exception e)
        {
            return Program.Describe(e);
        }
    }

    // The file's own clock; TraceEvent keeps these to itself and only offers milliseconds as a double.
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_QPCFreq")]
    public static extern ref long TicksPerSecond(TraceEventSource source);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_syncTimeQPC")]
    public static extern ref long SyncTicks(TraceEventSource source);

    /// <summary>The event's id in the file: TraceEvent gives GC dynamic events it knows by name an id of its own.</summary>
    public static int Id(TraceEvent data) =>
        data.ProviderGuid == ClrTraceEventParser.ProviderGuid && (int)data.ID >= FirstInventedId ? GcDynamicId : (int)data.ID;

    /// <summary>In the file's ticks, exact.</summary>
    public static long Ticks(TraceEvent data)
    {
#pragma warning disable CS0618  // discouraged, but the milliseconds it recommends are rounded
        return data.TimeStampQPC;
#pragma warning restore CS0618
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "get_FileFormatVersionNumber")]
    public static extern int FormatVersion(EventPipeEventSource source);
}
