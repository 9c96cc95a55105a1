// oracle gc: the collections as TraceEvent's own analysis sees them.

using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Analysis;
using Microsoft.Diagnostics.Tracing.Analysis.GC;

namespace Clrscope.Oracle;

internal static class GcCommand
{
    public static int Run(string file)
    {
        using EventPipeEventSource source = TraceSource.Open(file);
        source.NeedLoadedDotNetRuntimes();
        string? error = TraceSource.Process(source);

        using var json = new JsonOut();
        var w = json.Writer;
        w.WriteStartObject();
        w.WriteNumber("lost", source.EventsLost);
        w.WriteStartArray("processes");
        foreach (TraceProcess process in source.Processes())
        {
            if (process.LoadedDotNetRuntime() is not { } runtime)
            {
                continue;
            }

            w.WriteStartObject();
            w.WriteNumber("pid", process.ProcessID);
            w.WriteNumber("totalPauseMs", runtime.GC.GCs.Where(gc => gc.IsComplete).Sum(gc => gc.PauseDurationMSec));
            w.WriteStartArray("collections");
            foreach (TraceGC gc in runtime.GC.GCs)
            {
                Write(w, gc);
            }

            w.WriteEndArray();
            w.WriteEndObject();
        }

        w.WriteEndArray();
        if (error is not null)
        {
            w.WriteString("error", error);
        }

        w.WriteEndObject();
        json.EndLine();
        return Program.ExitCode(error);
    }

    private static void Write(System.Text.Json.Utf8JsonWriter w, TraceGC gc)
    {
        w.WriteStartObject();
        w.WriteNumber("number", gc.Number);
        w.WriteNumber("generation", gc.Generation);
        w.WriteString("reason", gc.Reason.ToString());
        w.WriteString("type", gc.Type.ToString());
        w.WriteBoolean("complete", gc.IsComplete);
        w.WriteNumber("startMs", gc.StartRelativeMSec);
        w.WriteNumber("pauseMs", gc.PauseDurationMSec);
        w.WriteNumber("durationMs", gc.DurationMSec);
        if (gc.HeapStats is { } heap)
        {
            w.WriteStartObject("heapAfter");
            w.WriteNumber("gen0Bytes", heap.GenerationSize0);
            w.WriteNumber("gen1Bytes", heap.GenerationSize1);
            w.WriteNumber("gen2Bytes", heap.GenerationSize2);
            w.WriteNumber("lohBytes", heap.GenerationSize3);
            w.WriteNumber("pohBytes", heap.GenerationSize4);
            w.WriteNumber("totalBytes", heap.TotalHeapSize);
            w.WriteNumber("promotedBytes", heap.TotalPromoted);
            w.WriteEndObject();
        }

        w.WriteEndObject();
    }
}
