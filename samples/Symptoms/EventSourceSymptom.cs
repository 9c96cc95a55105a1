using System.Diagnostics.Tracing;

namespace Samples.Symptoms;

enum Colour
{
    Red = 1,
    Green = 2,
    Blue = 4,
}

[EventData]
sealed class Address
{
    public string Street { get; set; } = "";
    public int Number { get; set; }
}

[EventData]
sealed class Customer
{
    public string Name { get; set; } = "";
    public Address Home { get; set; } = new();
}

[EventSource(Name = "Clrscope-Samples")]
sealed class SamplesEventSource : EventSource
{
    public static readonly SamplesEventSource Log = new();

    public static class Keywords
    {
        public const EventKeywords Numbers = (EventKeywords)0x1;
        public const EventKeywords Texts = (EventKeywords)0x2;
        public const EventKeywords SelfDescribing = (EventKeywords)0x4;
    }

    [Event(1, Level = EventLevel.Informational)]
    public void Numbered(long sequence) => WriteEvent(1, sequence);

    [Event(2, Level = EventLevel.Informational, Keywords = Keywords.Numbers)]
    public void Integers(sbyte i8, byte u8, short i16, ushort u16, int i32, uint u32, long i64, ulong u64) =>
        WriteEvent(2, i8, u8, i16, u16, i32, u32, i64, u64);

    [Event(3, Level = EventLevel.Informational, Keywords = Keywords.Numbers)]
    public void Floats(float f32, double f64) => WriteEvent(3, f32, f64);

    [Event(4, Level = EventLevel.Verbose, Keywords = Keywords.Numbers)]
    public void Small(bool yes, bool no, char letter, nint pointer) => WriteEvent(4, yes, no, letter, pointer);

    [Event(5, Level = EventLevel.Warning, Keywords = Keywords.Texts)]
    public void Texts(string text, string empty, string? missing) => WriteEvent(5, text, empty, missing);

    [Event(6, Level = EventLevel.Informational)]
    public void Identity(Guid id) => WriteEvent(6, id);

    [Event(7, Level = EventLevel.Informational)]
    public void Moment(DateTime when) => WriteEvent(7, when);

    [Event(8, Level = EventLevel.Informational)]
    public void Painted(Colour colour) => WriteEvent(8, (int)colour);

    [Event(9, Level = EventLevel.Informational)]
    public void Blob(byte[] bytes) => WriteEvent(9, bytes);

    [Event(10, Level = EventLevel.Informational, Message = "nothing to say")]
    public void Empty() => WriteEvent(10);

    [Event(11, Level = EventLevel.Informational, Opcode = EventOpcode.Start)]
    public void StepStart(int step) => WriteEvent(11, step);

    [Event(12, Level = EventLevel.Informational, Opcode = EventOpcode.Stop)]
    public void StepStop(int step) => WriteEvent(12, step);
}

/// <summary>Events declared like those above, described by themselves: so the runtime tells their arrays in the metadata.</summary>
[EventSource(Name = "Clrscope-Samples-SelfDescribing")]
sealed class SelfDescribingEventSource : EventSource
{
    public static readonly SelfDescribingEventSource Log = new();

    SelfDescribingEventSource() : base(EventSourceSettings.EtwSelfDescribingEventFormat) { }

    [Event(1)]
    public void IntList(string name, int[] ints) => WriteEvent(1, name, ints);

    [Event(2)]
    public void ByteList(byte[] bytes, long last) => WriteEvent(2, bytes, last);

    [Event(3)]
    public void PairList(string name, IEnumerable<KeyValuePair<string, string>> pairs) => WriteEvent(3, name, pairs);
}

// What the runtime does with some of these, 8 to 10 (as seen through EventPipe):
// - string[] is refused ("Arrays of null-terminated string are not supported"): strings in arrays come as Objects and Pairs.
// - Arrays are described in the metadata for the self-describing source only. Elsewhere the event has bytes and no fields.
// - Write() wraps its fields in one object without a name, and writes a bool as 1 byte where the metadata means 4.

/// <summary>Each round writes every event once. All values but Numbered's are the same in every round; ready tells them.</summary>
static class EventSourceSymptom
{
    static readonly Guid Id = new("01234567-89ab-cdef-0123-456789abcdef");
    static readonly DateTime When = new(2024, 2, 29, 12, 34, 56, 789, DateTimeKind.Utc);
    static readonly EventSourceOptions SelfDescribing = new() { Level = EventLevel.Informational, Keywords = SamplesEventSource.Keywords.SelfDescribing };

    static readonly string[] Undescribed = ["Blob", "Ints", "Arrays", "Objects", "Pairs"];
    static readonly Dictionary<string, string> s_tags = new() { ["colour"] = "rot", ["größe"] = "" };

    static readonly string[] Names =
    [
        "Numbered", "Integers", "Floats", "Small", "Texts", "Identity", "Moment", "Painted", "Blob", "Empty",
        "Step/Start", "Step/Stop", "Scalars", "Flag", "Ints", "Arrays", "Nested", "Objects", "Pairs",
        "IntList", "ByteList", "PairList",
    ];

    public static void Run(Stage stage)
    {
        var log = SamplesEventSource.Log;
        var rate = stage.Options.Number("rate") ?? 10;
        var count = stage.Options.Count("count");
        if ((log.ConstructionException ?? SelfDescribingEventSource.Log.ConstructionException) is { } flaw) throw flaw;
        long rounds = 0, enabled = 0;
        stage.Ready(new
        {
            provider = log.Name,
            selfDescribingProvider = SelfDescribingEventSource.Log.Name,
            roundsPerSecond = rate,
            eventsPerRound = Names.Length,
            values = Values,
            undescribed = Undescribed,
        });
        stage.WaitForGo();
        stage.Work("writer", () =>
        {
            while (stage.Options.Has("wait-enabled") && !log.IsEnabled() && stage.Sleep(5)) { }
            stage.Every(rate, () =>
            {
                if (log.IsEnabled()) ++enabled;
                WriteAll(log, rounds++);
            }, count);
        });
        stage.FinishWork();
        stage.Done(new { provider = log.Name, rounds, roundsWhileEnabled = enabled, events = Names.ToDictionary(n => n, _ => rounds) });
    }

    static void WriteAll(SamplesEventSource log, long sequence)
    {
        log.Numbered(sequence);
        log.Integers(sbyte.MinValue, byte.MaxValue, short.MinValue, ushort.MaxValue, int.MinValue, uint.MaxValue, long.MinValue, ulong.MaxValue);
        log.Floats(1.5f, -2.25);
        log.Small(true, false, 'ß', 0x1234);
        log.Texts("Grüße, 世界 🙂", "", null);
        log.Identity(Id);
        log.Moment(When);
        log.Painted(Colour.Blue);
        log.Blob([0, 1, 2, 254, 255]);
        log.Empty();
        log.StepStart(7);
        log.StepStop(7);
        log.Write("Scalars", SelfDescribing, new { i32 = -5, u64 = ulong.MaxValue, f64 = 0.5, text = "ç", id = Id, when = When });
        log.Write("Flag", SelfDescribing, new { before = 1, yes = true, after = 2 });
        log.Write("Ints", SelfDescribing, new { ints = new[] { 1, -2, 3 }, nothing = Array.Empty<int>() });
        log.Write("Arrays", SelfDescribing, new { bytes = new byte[] { 0, 255 }, doubles = new[] { 0.5 }, flags = new[] { true, false }, letters = new[] { 'a', 'ß' } });
        log.Write("Nested", SelfDescribing, new Customer { Name = "Ada", Home = new() { Street = "Long Lane", Number = 12 } });
        log.Write("Objects", SelfDescribing, new { others = new Address[] { new() { Street = "Short Street", Number = 1 }, new() { Street = "", Number = 2 } } });
        log.Write("Pairs", SelfDescribing, new { tags = s_tags });
        SelfDescribingEventSource.Log.IntList("three", [1, -2, 3]);
        SelfDescribingEventSource.Log.ByteList([0, 1, 255], 7);
        SelfDescribingEventSource.Log.PairList("two", s_tags);
    }

    static object Values => new Dictionary<string, object>
    {
        ["Integers"] = new { i8 = sbyte.MinValue, u8 = byte.MaxValue, i16 = short.MinValue, u16 = ushort.MaxValue, i32 = int.MinValue, u32 = uint.MaxValue, i64 = long.MinValue, u64 = ulong.MaxValue },
        ["Floats"] = new { f32 = 1.5f, f64 = -2.25 },
        ["Small"] = new { yes = true, no = false, letter = "ß", pointer = 0x1234 },
        ["Texts"] = new { text = "Grüße, 世界 🙂", empty = "", missing = "" },
        ["Identity"] = new { id = Id },
        ["Moment"] = new { when = When },
        ["Painted"] = new { colour = (int)Colour.Blue },
        ["Blob"] = new { bytes = "000102feff" },
        ["Empty"] = new { },
        ["Step/Start"] = new { step = 7 },
        ["Step/Stop"] = new { step = 7 },
        ["Scalars"] = new { i32 = -5, u64 = ulong.MaxValue, f64 = 0.5, text = "ç", id = Id, when = When },
        ["Flag"] = new { before = 1, yes = true, after = 2 },
        ["Ints"] = new { ints = new[] { 1, -2, 3 }, nothing = Array.Empty<int>() },
        ["Arrays"] = new { bytes = new[] { 0, 255 }, doubles = new[] { 0.5 }, flags = new[] { true, false }, letters = new[] { 'a', 'ß' } },
        ["Nested"] = new { Name = "Ada", Home = new { Street = "Long Lane", Number = 12 } },
        ["Objects"] = new { others = new[] { new { Street = "Short Street", Number = 1 }, new { Street = "", Number = 2 } } },
        ["Pairs"] = new { tags = s_tags },
        ["IntList"] = new { name = "three", ints = new[] { 1, -2, 3 } },
        ["ByteList"] = new { bytes = "0001ff", last = 7 },
        ["PairList"] = new { name = "two", pairs = s_tags },
    };
}
