// oracle tracelog: what PerfView would show: TraceEvent's conversion to .etlx, with stacks resolved to methods.

using System.Text.Json;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;

namespace Clrscope.Oracle;

internal static class TraceLogCommand
{
    public static int Run(string file)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("oracle-");
        try
        {
            string etlx = Path.Combine(folder.FullName, "trace.etlx");
            TraceLog.CreateFromEventPipeDataFile(file, etlx);
            using var log = new TraceLog(etlx);
            var samples = new SampleTable();
            long events = 0;
            foreach (TraceEvent data in log.Events)
            {
                ++events;
                if (SampleTable.IsSample(data))
                {
                    samples.Add(data);
                }
            }

            Write(log, events, samples);
            return 0;
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static void Write(TraceLog log, long events, SampleTable samples)
    {
        using var json = new JsonOut();
        var w = json.Writer;
        w.WriteStartObject();
        w.WriteNumber("events", events);
        w.WriteNumber("lost", log.EventsLost);
        WriteProcesses(w, log, samples);
        WriteModules(w, samples);
        w.WriteStartObject("frames");
        w.WriteNumber("total", samples.Frames.Total);
        w.WriteNumber("named", samples.Frames.Named);
        w.WriteNumber("managedTotal", samples.ManagedFrames.Total);
        w.WriteNumber("managedNamed", samples.ManagedFrames.Named);
        w.WriteEndObject();
        w.WriteNumber("samples", samples.Count);
        w.WriteNumber("samplesWithoutStack", samples.WithoutStack);
        WriteMethods(w, samples);
        w.WriteEndObject();
        json.EndLine();
    }

    private static void WriteProcesses(Utf8JsonWriter w, TraceLog log, SampleTable samples)
    {
        w.WriteStartArray("processes");
        foreach (TraceProcess process in log.Processes)
        {
            w.WriteStartObject();
            w.WriteNumber("pid", process.ProcessID);
            w.WriteString("name", process.Name);
            ProcessCount count = samples.OfProcess(process.ProcessID);
            w.WriteNumber("cpuSamples", count.Samples);
            w.WriteNumber("managedTotal", count.ManagedFrames.Total);
            w.WriteNumber("managedNamed", count.ManagedFrames.Named);
            w.WriteEndObject();
        }

        w.WriteEndArray();
    }

    private static void WriteModules(Utf8JsonWriter w, SampleTable samples)
    {
        w.WriteStartArray("modules");
        foreach (var (path, frames) in samples.Modules.OrderByDescending(m => m.Value.Total)
                     .ThenBy(m => m.Key, StringComparer.Ordinal))
        {
            w.WriteStartObject();
            w.WriteString("path", path);
            w.WriteNumber("frames", frames.Total);
            w.WriteNumber("named", frames.Named);
            w.WriteEndObject();
        }

        w.WriteEndArray();
    }

    private static void WriteMethods(Utf8JsonWriter w, SampleTable samples)
    {
        double Percent(long count) => Math.Round(100.0 * count / samples.Count, 4);

        w.WriteStartArray("methods");
        foreach (var (method, cost) in samples.Methods.OrderByDescending(m => m.Value.Self)
                     .ThenByDescending(m => m.Value.Total).ThenBy(m => m.Key.Name, StringComparer.Ordinal))
        {
            w.WriteStartObject();
            w.WriteString("method", method.Name);
            w.WriteString("module", method.Module);
            w.WriteNumber("self", Percent(cost.Self));
            w.WriteNumber("total", Percent(cost.Total));
            w.WriteNumber("selfSamples", cost.Self);
            w.WriteNumber("totalSamples", cost.Total);
            w.WriteEndObject();
        }

        w.WriteEndArray();
    }
}
