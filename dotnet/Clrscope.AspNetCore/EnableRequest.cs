namespace Clrscope.AspNetCore;

/// <summary>
/// What `clrscope enable` and `disable` write beside the helper, and what they read back: lines "name=value". Plain, since a trimmed app may have no JSON.
/// src/ops/enable.cpp is the other side.
/// </summary>
internal sealed class EnableRequest
{
    const string RequestFile = "request";
    const string AnswerFile = "answer";

    readonly ILookup<string, string> _values;

    EnableRequest(ILookup<string, string> values) => _values = values;

    /// <summary>"requests": of `clrscope requests`, with the address of what its agent offers.</summary>
    public string Command => _values["command"].FirstOrDefault() ?? "";
    public nint Api => nint.TryParse(_values["api"].FirstOrDefault(), out var address) ? address : 0;
    public string Action => _values["action"].FirstOrDefault() ?? "";
    public string? Binary => _values["binary"].FirstOrDefault();
    public IReadOnlyList<string> Urls => [.. _values["url"]];
    public IReadOnlyList<string> Arguments => [.. _values["argument"]];

    public static bool IsIn(string folder) => File.Exists(Path.Combine(folder, RequestFile));

    public static EnableRequest Read(string folder) =>
        new(File.ReadLines(Path.Combine(folder, RequestFile)).Select(l => l.Split('=', 2)).Where(p => p.Length == 2).ToLookup(p => p[0], p => p[1]));

    /// <summary>Whole or not at all: the other side polls for it.</summary>
    public static void Answer(string folder, IEnumerable<(string Name, string Value)> values)
    {
        var path = Path.Combine(folder, AnswerFile);
        File.WriteAllLines(path + ".part", values.Select(v => $"{v.Name}={v.Value.ReplaceLineEndings(" ")}"));
        File.Move(path + ".part", path, overwrite: true);
    }
}
