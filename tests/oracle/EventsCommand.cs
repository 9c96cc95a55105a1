// oracle events: one line per event, in the order TraceEvent dispatches them.

using System.Collections;
using System.Globalization;
using System.Text.Json;
using Microsoft.Diagnostics.Tracing;

namespace Clrscope.Oracle;

internal static class EventsCommand
{
    public static int Run(string file, EventOptions options)
    {
        using EventPipeEventSource source = TraceSource.Open(file);
        using var json = new JsonOut();
        long written = 0;
        source.AllEvents += data =>
        {
            if (written >= options.Limit)
            {
                return;  // StopProcessing would not be looked at before the end
            }

            Write(json.Writer, data, options);
            json.EndLine();
            ++written;
        };
        string? error = TraceSource.Process(source);
        if (error is not null)
        {
            Console.Error.WriteLine($"oracle: {file}: {error}");
        }

        return Program.ExitCode(error);
    }

    private static void Write(Utf8JsonWriter w, TraceEvent data, EventOptions options)
    {
        w.WriteStartObject();
        w.WriteString("provider", data.ProviderName);
        w.WriteNumber("id", TraceSource.Id(data));
        w.WriteNumber("version", data.Version);
        w.WriteString("name", data.EventName);
        w.WriteNumber("ticks", TraceSource.Ticks(data));
        w.WriteNumber("timeMs", data.TimeStampRelativeMSec);
        w.WriteNumber("processId", data.ProcessID);
        w.WriteNumber("threadId", data.ThreadID);
        w.WriteNumber("level", (int)data.Level);
        w.WriteString("keywords", Hex((ulong)data.Keywords));
        w.WriteNumber("opcode", (int)data.Opcode);
        WriteGuid(w, "activityId", data.ActivityID);
        if (options.Stacks)
        {
            w.WriteStartArray("stack");
            foreach (ulong ip in RawStack.Of(data))
            {
                w.WriteStringValue(Hex(ip));
            }

            w.WriteEndArray();
        }

        w.WriteNumber("payloadBytes", data.EventDataLength);
        if (options.Bytes)
        {
            w.WriteString("bytes", Convert.ToHexStringLower(data.EventData() ?? []));
        }

        if (options.Payload)
        {
            WriteFields(w, "payload", data, i => w.WriteStringValue(data.PayloadString(i, CultureInfo.InvariantCulture)));
        }

        if (options.Values)
        {
            WriteFields(w, "values", data, i => WriteValue(w, data.PayloadValue(i)));
        }

        w.WriteEndObject();
    }

    private static void WriteFields(Utf8JsonWriter w, string property, TraceEvent data, Action<int> write)
    {
        w.WriteStartObject(property);
        string[] names = data.PayloadNames ?? [];
        for (int i = 0; i < names.Length; ++i)
        {
            w.WritePropertyName(names[i]);
            write(i);
        }

        w.WriteEndObject();
    }

    private static void WriteValue(Utf8JsonWriter w, object? value)
    {
        switch (value)
        {
            case null: w.WriteNullValue(); break;
            case bool b: w.WriteBooleanValue(b); break;
            case Enum e: w.WriteNumberValue(Convert.ToDecimal(e, CultureInfo.InvariantCulture)); break;
            case char c: w.WriteStringValue(c.ToString()); break;
            case string s: w.WriteStringValue(s); break;
            case double d when !double.IsFinite(d): w.WriteStringValue(d.ToString(CultureInfo.InvariantCulture)); break;
            case float f when !float.IsFinite(f): w.WriteStringValue(f.ToString(CultureInfo.InvariantCulture)); break;
            case double d: w.WriteNumberValue(d); break;
            case float f: w.WriteNumberValue(f); break;
            case byte or sbyte or short or ushort or int or uint or long or ulong:
                w.WriteNumberValue(Convert.ToDecimal(value, CultureInfo.InvariantCulture));
                break;
            case DateTime t: w.WriteStringValue(t.ToUniversalTime().ToString("o")); break;
            case byte[] bytes: w.WriteStringValue(Convert.ToHexStringLower(bytes)); break;
            case IDictionary<string, object> members:
                w.WriteStartObject();
                foreach (var (name, member) in members)
                {
                    w.WritePropertyName(name);
                    WriteValue(w, member);
                }

                w.WriteEndObject();
                break;
            case IEnumerable items:
                w.WriteStartArray();
                foreach (object? item in items)
                {
                    WriteValue(w, item);
                }

                w.WriteEndArray();
                break;
            default: w.WriteStringValue(Convert.ToString(value, CultureInfo.InvariantCulture)); break;
        }
    }

    private static void WriteGuid(Utf8JsonWriter w, string property, Guid value)
    {
        if (value != Guid.Empty)
        {
            w.WriteString(property, value);
        }
    }

    private static string Hex(ulong value) => "0x" + value.ToString("x", CultureInfo.InvariantCulture);
}
