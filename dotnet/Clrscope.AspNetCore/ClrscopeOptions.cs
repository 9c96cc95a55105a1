namespace Clrscope.AspNetCore;

/// <summary>How the controller inside the app is run and who may use it.</summary>
public sealed class ClrscopeOptions
{
    /// <summary>Path of the native program. Default: the one in the package, then <c>clrscope</c> on PATH.</summary>
    public string? BinaryPath { get; set; }

    /// <summary>Folder for recordings, reports and the audit log. Default: a private folder that is deleted when the app ends.</summary>
    public string? WorkingFolder { get; set; }

    /// <summary>Read-only access: no recordings, no dumps, nothing that reads memory.</summary>
    public bool ReadOnly { get; set; }

    /// <summary>Additional arguments for <c>clrscope serve</c>.</summary>
    public IList<string> Arguments { get; } = [];

    /// <summary>
    /// Allows callers from anywhere even if the app requires no authorization. By default, a path that has neither
    /// <c>RequireAuthorization</c> nor <c>AllowAnonymous</c> is available only to callers on this machine that run as the app's user or root.
    /// </summary>
    public bool AllowAnonymous { get; set; }

    /// <summary>Time that the controller may take to start before a request fails.</summary>
    public TimeSpan StartTimeout { get; set; } = TimeSpan.FromSeconds(10);
}
