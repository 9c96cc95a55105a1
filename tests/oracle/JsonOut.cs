// JSON to stdout, one document or one line at a time.

using System.Text.Encodings.Web;
using System.Text.Json;

namespace Clrscope.Oracle;

internal sealed class JsonOut : IDisposable
{
    private static readonly JsonWriterOptions Options = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        SkipValidation = true,
    };

    private readonly BufferedStream stream_ = new(Console.OpenStandardOutput(), 1 << 16);

    public JsonOut() => Writer = new Utf8JsonWriter(stream_, Options);

    public Utf8JsonWriter Writer { get; }

    /// <summary>Ends the current document with a newline and starts the next.</summary>
    public void EndLine()
    {
        Writer.Flush();
        Writer.Reset();
        stream_.WriteByte((byte)'\n');
    }

    public void Dispose()
    {
        Writer.Dispose();
        stream_.Dispose();
    }
}
