// oracle heap: the objects of the first heap walk of a trace, as TraceEvent's parsers read the garbage collector's events.

using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

namespace Clrscope.Oracle;

internal sealed class HeapTotals
{
    private readonly SortedDictionary<string, (long Count, long Bytes)> types_ = new(StringComparer.Ordinal);
    private long objects_, bytes_;

    public long References { get; set; }

    public void Add(string type, long size)
    {
        ++objects_;
        bytes_ += size;
        (long count, long bytes) = types_.GetValueOrDefault(type);
        types_[type] = (count + 1, bytes + size);
    }

    public void Write(System.Text.Json.Utf8JsonWriter w)
    {
        w.WriteNumber("objects", objects_);
        w.WriteNumber("bytes", bytes_);
        w.WriteNumber("references", References);
        w.WriteStartArray("types");
        foreach (var (type, (count, bytes)) in types_)
        {
            w.WriteStartObject();
            w.WriteString("type", type);
            w.WriteNumber("count", count);
            w.WriteNumber("bytes", bytes);
            w.WriteEndObject();
        }

        w.WriteEndArray();
    }
}

internal static class HeapCommand
{
    public static int Run(string file)
    {
        var names = new Dictionary<ulong, string>();
        var objects = new List<(ulong Type, long Size)>();
        var roots = new SortedDictionary<string, int>();
        long references = 0, statics = 0, dependent = 0;
        bool over = false;
        using EventPipeEventSource source = TraceSource.Open(file);
        source.Clr.TypeBulkType += (GCBulkTypeTraceData data) =>
        {
            for (int i = 0; i < data.Count; ++i)
            {
                GCBulkTypeValues type = data.Values(i);
                names[type.TypeID] = type.TypeName;
            }
        };
        source.Clr.GCBulkNode += (GCBulkNodeTraceData data) =>
        {
            for (int i = 0; i < data.Count && !over; ++i)
            {
                GCBulkNodeValues node = data.Values(i);
                objects.Add((node.TypeID, (long)node.Size));
            }
        };
        source.Clr.GCBulkEdge += (GCBulkEdgeTraceData data) => references += over ? 0 : data.Count;
        source.Clr.GCBulkRootStaticVar += (GCBulkRootStaticVarTraceData data) => statics += over ? 0 : data.Count;
        source.Clr.GCBulkRootConditionalWeakTableElementEdge += (GCBulkRootConditionalWeakTableElementEdgeTraceData data) =>
            dependent += over ? 0 : data.Count;
        source.Clr.GCBulkRootEdge += (GCBulkRootEdgeTraceData data) =>
        {
            for (int i = 0; i < data.Count && !over; ++i)
            {
                GCBulkRootEdgeValues root = data.Values(i);
                if ((root.GCRootFlag & GCRootFlags.WeakRef) == 0)
                {
                    string kind = root.GCRootKind.ToString();
                    roots[kind] = roots.GetValueOrDefault(kind) + 1;
                }
            }
        };
        source.Clr.GCStop += (GCEndTraceData data) => over = over || objects.Count > 0;
        string? error = TraceSource.Process(source);

        var totals = new HeapTotals { References = references };
        foreach (var (type, size) in objects)
        {
            totals.Add(names.GetValueOrDefault(type, "?"), size);
        }

        using var json = new JsonOut();
        var w = json.Writer;
        w.WriteStartObject();
        totals.Write(w);
        w.WriteNumber("lost", source.EventsLost);
        w.WriteNumber("statics", statics);
        w.WriteNumber("dependent", dependent);
        w.WriteStartObject("roots");
        foreach (var (kind, count) in roots)
        {
            w.WriteNumber(kind, count);
        }

        w.WriteEndObject();
        w.WriteEndObject();
        json.EndLine();
        return Program.ExitCode(error);
    }
}
