using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace Clrscope.AspNetCore;

/// <summary>The controller of this app and the forwarding to it; one per service container.</summary>
internal sealed class ClrscopeInside : IDisposable
{
    readonly ClrscopeOptions _options;
    readonly Forwarder _forwarder;

    public ClrscopeInside(IOptions<ClrscopeOptions> options, ILoggerFactory? logs = null)
    {
        _options = options.Value;
        var log = logs?.CreateLogger("Clrscope.AspNetCore");
        Controller = new Controller(new ControllerSetting
        {
            BinaryPath = _options.BinaryPath,
            WorkingFolder = _options.WorkingFolder,
            Arguments = _options.ReadOnly ? ["--read-only", .. _options.Arguments] : [.. _options.Arguments],
            StartTimeout = _options.StartTimeout,
        }, text => log?.LogWarning("{Text}", text));
        _forwarder = new Forwarder(Controller);
    }

    public Controller Controller { get; }

    /// <summary><paramref name="admitted"/>: the app has authorized this request.</summary>
    public Task AnswerAsync(HttpContext context, PathString basePath, PathString path, bool admitted)
    {
        if (!admitted && !_options.AllowAnonymous && AccessCheck.Refusal(context) is var (what, hint)) return Problem.WriteAsync(context, StatusCodes.Status403Forbidden, what, hint);
        if (AccessCheck.ComesFromAnotherSite(context.Request))
            return Problem.WriteAsync(context, StatusCodes.Status403Forbidden, "this request does not come from a page of this app", "");
        return _forwarder.HandleAsync(context, basePath.ToUriComponent(), path.ToUriComponent(), Caller.AdmittedByApp);
    }

    public void Dispose()
    {
        Controller.Dispose();
        _forwarder.Dispose();
    }
}
