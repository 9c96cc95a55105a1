using System.Diagnostics.Tracing;

namespace Clrscope;

/// <summary>What a field's value is.</summary>
public enum FieldKind
{
    /// <summary>The event has no such field.</summary>
    Missing,

    /// <summary>A Boolean.</summary>
    Bool,

    /// <summary>A signed number, up to 64 bits.</summary>
    Int,

    /// <summary>An unsigned number, up to 64 bits; pointers too.</summary>
    UInt,

    /// <summary>A floating point number.</summary>
    Double,

    /// <summary>A string.</summary>
    Text,

    /// <summary>A <see cref="DateTime"/>.</summary>
    Time,

    /// <summary>A <see cref="System.Guid"/>.</summary>
    Guid,

    /// <summary>An array of bytes.</summary>
    Bytes,

    /// <summary>Anything else: arrays, nested objects.</summary>
    Object,
}

/// <summary>One field of an event's payload.</summary>
public sealed class EventField
{
    internal EventField(string name, FieldKind kind, int source, TableField? table)
    {
        Name = string.Intern(name); // compared with literals: the same object
        Kind = kind;
        Source = source;
        Table = table is { Mask: ulong.MaxValue, Of: null, Hex: false, Names: null, SignedBytes: 0 } ? null : table;
    }

    /// <summary>As the C++ tool prints it.</summary>
    public string Name { get; }

    /// <summary>What its values are.</summary>
    public FieldKind Kind { get; }

    internal int Source { get; } // index into the listener's payload
    internal TableField? Table { get; } // only where it changes the value or its text

    /// <summary>Name and kind.</summary>
    public override string ToString() => $"{Name}:{Kind}";
}

/// <summary>What all events of one kind have in common. One object while any session listens to the provider.</summary>
public sealed class EventType
{
    // Set by EventSource in every event: which of the sessions of old Windows versions want it.
    const ulong SessionKeywords = 0xF00000000000;

    readonly EventField[] _fields;

    internal EventType(EventWrittenEventArgs e)
    {
        Provider = e.EventSource.Name;
        Id = Math.Max(0, e.EventId);
        Version = e.Version;
        Level = e.Level;
        Opcode = e.Opcode;
        Keywords = KeywordsOf(e);
        var table = Provider == ProviderRequest.Runtime ? EventTable.Runtime.Find(Id, Version) : null;
        Name = table?.Name ?? DescribedName(e.EventName, Id, (int)e.Opcode);
        _fields = Describe(e, table);
    }

    /// <summary>The EventSource's name.</summary>
    public string Provider { get; }

    /// <summary>Id of the event; 0 for self-describing events.</summary>
    public int Id { get; }

    /// <summary>Its version.</summary>
    public int Version { get; }

    /// <summary>As the C++ tool prints it: <c>GC/Start</c>, <c>Order/Stop</c>.</summary>
    public string Name { get; }

    /// <summary>How serious or how detailed it is.</summary>
    public EventLevel Level { get; }

    /// <summary>The groups it belongs to.</summary>
    public ulong Keywords { get; }

    /// <summary>Whether something starts or stops with it.</summary>
    public EventOpcode Opcode { get; }

    /// <summary>The payload's fields in order.</summary>
    public IReadOnlyList<EventField> Fields => _fields;

    /// <summary>Index of the field with that name; -1 if there is none.</summary>
    public int IndexOf(string field)
    {
        for (var i = 0; i < _fields.Length; ++i)
            if (_fields[i].Name == field) return i;
        return -1;
    }

    /// <summary>Provider and name.</summary>
    public override string ToString() => $"{Provider} {Name}";

    internal EventField Field(int index) => _fields[index];

    internal static ulong KeywordsOf(EventWrittenEventArgs e) => (ulong)e.Keywords & ~SessionKeywords;

    /// <summary>Whether an event that describes itself is of this type.</summary>
    internal bool IsTypeOf(EventWrittenEventArgs e)
    {
        if (Level != e.Level || Opcode != e.Opcode || Keywords != KeywordsOf(e)) return false;
        var names = e.PayloadNames;
        if ((names?.Count ?? 0) != _fields.Length) return false;
        for (var i = 0; i < _fields.Length; ++i)
            if (names![i] != _fields[i].Name) return false;
        return true;
    }

    static EventField[] Describe(EventWrittenEventArgs e, TableEvent? table)
    {
        var payload = e.Payload;
        var count = payload?.Count ?? 0;
        var fields = new List<EventField>(count);
        for (var i = 0; i < count; ++i)
        {
            // The listener's payload ends before the first array; up to there both go in step.
            var known = table is not null && i < table.Fields.Length && table.Fields[i] is { Plain: true, Of: null } field ? field : null;
            var name = known?.Name ?? (e.PayloadNames is { } names && i < names.Count ? names[i] : $"Field{i}");
            var kind = FieldValue.KindOf(payload![i]);
            if (known is { SignedBytes: > 0 } && kind == FieldKind.UInt) kind = FieldKind.Int;
            fields.Add(new EventField(name, kind, i, known));
        }
        foreach (var bits in table?.Fields.Where(f => f.Of is not null) ?? [])
            if (fields.FindIndex(f => f.Name == bits.Of) is var of and >= 0) fields.Add(new EventField(bits.Name, FieldKind.UInt, of, bits));
        return fields.ToArray();
    }

    static readonly string[] s_opcodes =
        ["Info", "Start", "Stop", "DataCollectionStart", "DataCollectionStop", "Extension", "Reply", "Resume", "Suspend", "Transfer"];

    // As TraceEvent names an event of an EventSource.
    static string DescribedName(string? name, int id, int opcode)
    {
        if (string.IsNullOrEmpty(name)) return id == 0 ? "EventWriteString" : $"EventID({id})";
        if (opcode == 0 && name.EndsWith("Start", StringComparison.OrdinalIgnoreCase)) opcode = 1;
        if (opcode == 0 && name.EndsWith("Stop", StringComparison.OrdinalIgnoreCase)) opcode = 2;
        if (opcode == 1 && name.EndsWith("Start", StringComparison.OrdinalIgnoreCase)) name = name[..^5];
        if (opcode == 2 && name.EndsWith("Stop", StringComparison.OrdinalIgnoreCase)) name = name[..^4];
        return opcode == 0 ? name : $"{name}/{(opcode < s_opcodes.Length ? s_opcodes[opcode] : opcode.ToString())}";
    }
}
