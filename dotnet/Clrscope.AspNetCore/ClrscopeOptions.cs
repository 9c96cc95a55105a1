namespace Clrscope.AspNetCore;

/// <summary>How the controller inside the app is run and who may use it.</summary>
public sealed class ClrscopeOptions
{
    /// <summary>The native program. Unless told: the one that the package brought along, then <c>clrscope</c> on PATH.</summary>
    public string? BinaryPath { get; set; }

    /// <summary>Where recordings, reports and the audit log are kept. Unless told: a private folder that goes with the app.</summary>
    public string? WorkingFolder { get; set; }

    /// <summary>Looking only: no recordings, no dumps, nothing that reads memory.</summary>
    public bool ReadOnly { get; set; }

    /// <summary>More arguments for <c>clrscope serve</c>.</summary>
    public IList<string> Arguments { get; } = [];

    /// <summary>
    /// Answers callers from anywhere although the app asks for no authorization. Unless told, a path that has neither
    /// <c>RequireAuthorization</c> nor <c>AllowAnonymous</c> answers only callers on this machine, of the app's own user or root.
    /// </summary>
    public bool AllowAnybody { get; set; }

    /// <summary>How long a start of the controller may take before a request is refused.</summary>
    public TimeSpan StartTimeout { get; set; } = TimeSpan.FromSeconds(10);
}
