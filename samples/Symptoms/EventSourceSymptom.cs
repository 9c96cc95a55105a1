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
    public int[] Scores { get; set; } = [];
    public Address[] Others { get; set; } = [];
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

/// <summary>Each round writes every event once. All values but Numbered's are the same in every round; ready tells them.</summary>
static class EventSourceSymptom
{
    static readonly Guid Id = new("01234567-89ab-cdef-0123-456789abcdef");
    static readonly DateTime When = new(2024, 2, 29, 12, 34, 56, 789, DateTimeKind.Utc);
    static readonly EventSourceOptions SelfDescribing = new() { Level = EventLevel.Informational, Keywords = SamplesEventSource.Keywords.SelfDescribing };

    static readonly string[] Names =
    [
        "Numbered", "Integers", "Floats", "Small", "Texts", "Identity", "Moment", "Painted", "Blob", "Empty",
        "Step/Start", "Step/Stop", "Arrays", "Nested",
    ];

    public static void Run(Stage stage)
    {
        var log = SamplesEventSource.Log;
        var rate = stage.Options.Number("rate") ?? 10;
        var count = stage.Options.Count("count");
        long rounds = 0, enabled = 0;
        stage.Ready(new { provider = log.Name, roundsPerSecond = rate, eventsPerRound = Names.Length, values = Values });
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
        log.Write("Arrays", SelfDescribing, new { ints = new[] { 1, -2, 3 }, texts = new[] { "a", "", "ç" }, doubles = new[] { 0.5 }, nothing = Array.Empty<int>() });
        log.Write("Nested", SelfDescribing, new Customer
        {
            Name = "Ada",
            Home = new() { Street = "Long Lane", Number = 12 },
            Scores = [10, 20],
            Others = [new() { Street = "Short Street", Number = 1 }, new() { Street = "", Number = 2 }],
        });
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
        ["Arrays"] = new { ints = new[] { 1, -2, 3 }, texts = new[] { "a", "", "ç" }, doubles = new[] { 0.5 }, nothing = Array.Empty<int>() },
        ["Nested"] = new { Name = "Ada", Home = new { Street = "Long Lane", Number = 12 }, Scores = new[] { 10, 20 }, Others = new[] { new { Street = "Short Street", Number = 1 }, new { Street = "", Number = 2 } } },
    };
}
