using System.Diagnostics.Tracing;

namespace Clrscope;

/// <summary>
/// One event, valid only during the call of a listener: types, names and values, without copies. Copy what you need
/// later.
/// </summary>
public readonly ref struct ClrEvent
{
    readonly EventWrittenEventArgs _event;

    internal ClrEvent(EventType type, EventWrittenEventArgs e, long thread)
    {
        Type = type;
        _event = e;
        ThreadId = thread;
    }

    /// <summary>Provider, name, level, keywords, fields.</summary>
    public EventType Type { get; }

    /// <summary>When it happened, UTC. For the runtime's own events the moment of the event, not of its delivery.</summary>
    public DateTime Timestamp => _event.TimeStamp;

    /// <summary>Operating system id of the thread that raised it.</summary>
    public long ThreadId { get; }

    /// <summary>The activity it belongs to.</summary>
    public Guid ActivityId => _event.ActivityId;

    /// <summary>The activity that started this one.</summary>
    public Guid RelatedActivityId => _event.RelatedActivityId;

    internal EventWrittenEventArgs Args => _event;

    /// <summary>Number of fields of the payload.</summary>
    public int Count => Type.Fields.Count;

    /// <summary>A field by its index.</summary>
    public FieldValue this[int field]
    {
        get
        {
            var plan = Type.Field(field);
            var payload = _event.Payload;
            return payload is null || plan.Source >= payload.Count ? default : FieldValue.From(payload[plan.Source], plan.Table);
        }
    }

    /// <summary>A field by its name; <see cref="FieldKind.Missing"/> if there is none.</summary>
    public FieldValue this[string field] => Type.IndexOf(field) is var at and >= 0 ? this[at] : default;

    /// <summary>One line: time, thread, provider, name, fields.</summary>
    public override string ToString()
    {
        var text = new System.Text.StringBuilder();
        text.Append(Timestamp.ToString("O")).Append(" tid=").Append(ThreadId).Append(' ').Append(Type.Provider).Append(' ').Append(Type.Name);
        for (var i = 0; i < Count; ++i) text.Append(' ').Append(Type.Field(i).Name).Append("=\"").Append(this[i].ToString()).Append('"');
        return text.ToString();
    }
}
