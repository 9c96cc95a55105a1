// oracle gcdump: a .gcdump read with Microsoft's FastSerialization, which finds the objects, their types and versions
// and checks where they end; the fields of the objects are read here, as docs/formats/gcdump.md has them.

using FastSerialization;

namespace Clrscope.Oracle;

internal static class GcDumpCommand
{
    public static int Run(string file)
    {
        var settings = SerializationSettings.Default.WithStreamLabelWidth(StreamLabelWidth.FourBytes);
        using var deserializer = new Deserializer(file, settings);
        var dump = new Dump();
        deserializer.RegisterFactory("GCHeapDump", () => dump);
        deserializer.RegisterFactory("Graphs.MemoryGraph", () => new DumpGraph());
        deserializer.RegisterFactory("DotNetHeapInfo", () => new DumpHeapInfo());
        deserializer.RegisterFactory("GCHeapDumpSegment", () => new DumpSegment());
        deserializer.GetEntryObject();

        DumpGraph graph = dump.Graph ?? throw new InvalidDataException("no graph");
        var totals = new HeapTotals();
        int rootNodes = 0;
        for (int node = 0; node < graph.NodeCount; ++node)
        {
            var (type, size, children) = graph.Node(node);
            if (graph.Addresses[node] == 0)
            {
                ++rootNodes;
                continue;
            }

            totals.Add(graph.Types[type].Name, size);
            foreach (int child in children)
            {
                totals.References += graph.Addresses[child] == 0 ? 0 : 1;
            }
        }

        using var json = new JsonOut();
        var w = json.Writer;
        w.WriteStartObject();
        totals.Write(w);
        w.WriteNumber("rootNodes", rootNodes);
        w.WriteNumber("reached", graph.Reached());
        w.WriteNumber("declaredBytes", graph.TotalSize);
        w.WriteNumber("pid", dump.ProcessId);
        w.WriteString("process", dump.ProcessName);
        w.WriteString("tool", dump.Tool);
        w.WriteNumber("segments", dump.HeapInfo?.Segments.Count ?? 0);
        w.WriteStartArray("roots");
        foreach (string name in graph.RootPaths())
        {
            w.WriteStringValue(name);
        }

        w.WriteEndArray();
        w.WriteEndObject();
        json.EndLine();
        return 0;
    }

    private sealed class Dump : IFastSerializable, IFastSerializableVersion
    {
        public DumpGraph? Graph;
        public DumpHeapInfo? HeapInfo;
        public string? ProcessName, Tool;
        public int ProcessId;

        public int Version => 10;
        public int MinimumVersionCanRead => 9;
        public int MinimumReaderVersion => 8;

        public void FromStream(Deserializer d)
        {
            Graph = (DumpGraph)d.ReadObject();
            d.ReadBool();
            d.ReadFloat();
            d.ReadFloat();
            d.ReadObject();
            HeapInfo = (DumpHeapInfo?)d.ReadObject();
            d.ReadString();
            d.ReadInt64();
            d.ReadString();
            ProcessName = d.ReadString();
            ProcessId = d.ReadInt();
            d.ReadInt64();
            d.ReadInt64();
            int multipliers = d.ReadInt();
            for (int i = 0; i < multipliers; ++i)
            {
                d.ReadFloat();
            }

            d.TryReadTaggedObject();
            string? tool = null;
            d.TryReadTagged(ref tool);
            Tool = tool;
        }

        public void ToStream(Serializer serializer) => throw new NotSupportedException();
    }

    private sealed class DumpGraph : IFastSerializable, IFastSerializableVersion
    {
        public readonly List<(string Name, int Size)> Types = [];
        public long TotalSize;
        public long[] Addresses = [];
        private int root_;
        private int[] places_ = [];
        private byte[] nodes_ = [];

        public int Version => 1;
        public int MinimumVersionCanRead => 0;
        public int MinimumReaderVersion => 0;
        public int NodeCount => places_.Length;

        public void FromStream(Deserializer d)
        {
            TotalSize = d.ReadInt64();
            root_ = d.ReadInt();
            int types = d.ReadInt();
            for (int i = 0; i < types; ++i)
            {
                string name = d.ReadString();
                int size = d.ReadInt();
                d.ReadString();
                Types.Add((name, size));
            }

            places_ = new int[d.ReadInt()];
            for (int i = 0; i < places_.Length; ++i)
            {
                places_[i] = d.ReadInt();
            }

            nodes_ = new byte[d.ReadInt()];
            d.Read(nodes_, 0, nodes_.Length);
            Addresses = new long[d.ReadInt()];
            for (int i = 0; i < Addresses.Length; ++i)
            {
                Addresses[i] = d.ReadInt64();
            }
        }

        public void ToStream(Serializer serializer) => throw new NotSupportedException();

        public (int Type, int Size, int[] Children) Node(int index)
        {
            int at = places_[index];
            int typeAndSize = Number(ref at);
            int type = typeAndSize >> 1;
            int size = (typeAndSize & 1) != 0 ? Number(ref at) : Types[type].Size;
            var children = new int[Number(ref at)];
            for (int i = 0; i < children.Length; ++i)
            {
                children[i] = index + Number(ref at);
            }

            return (type, size, children);
        }

        // Objects that the root of all leads to.
        public int Reached()
        {
            var seen = new bool[NodeCount];
            var pending = new Stack<int>([root_]);
            seen[root_] = true;
            int objects = 0;
            while (pending.TryPop(out int node))
            {
                objects += Addresses[node] == 0 ? 0 : 1;
                foreach (int child in Node(node).Children)
                {
                    if (!seen[child])
                    {
                        seen[child] = true;
                        pending.Push(child);
                    }
                }
            }

            return objects;
        }

        // The names of the nodes that stand for roots, from the root of all down.
        public IEnumerable<string> RootPaths()
        {
            var pending = new Stack<(int, string)>([(root_, "")]);
            while (pending.TryPop(out var top))
            {
                var (type, _, children) = Node(top.Item1);
                string path = top.Item2.Length == 0 ? Types[type].Name : $"{top.Item2}/{Types[type].Name}";
                yield return path;
                foreach (int child in children.Distinct().Where(child => Addresses[child] == 0))
                {
                    pending.Push((child, path));
                }
            }
        }

        private int Number(ref int at)
        {
            int value = (sbyte)(nodes_[at] << 1) >> 1;
            while ((nodes_[at++] & 0x80) != 0)
            {
                value = (value << 7) | (nodes_[at] & 0x7f);
            }

            return value;
        }
    }

    private sealed class DumpHeapInfo : IFastSerializable
    {
        public readonly List<DumpSegment> Segments = [];

        public void FromStream(Deserializer d)
        {
            d.ReadInt64();
            int count = d.ReadInt();
            for (int i = 0; i < count; ++i)
            {
                Segments.Add((DumpSegment)d.ReadObject());
            }
        }

        public void ToStream(Serializer serializer) => throw new NotSupportedException();
    }

    private sealed class DumpSegment : IFastSerializable, IFastSerializableVersion
    {
        public int Version => 1;
        public int MinimumVersionCanRead => 0;
        public int MinimumReaderVersion => 1;

        public void FromStream(Deserializer d)
        {
            for (int i = 0; i < 7; ++i)
            {
                d.ReadInt64();
            }
        }

        public void ToStream(Serializer serializer) => throw new NotSupportedException();
    }
}
