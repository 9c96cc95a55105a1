using System.Diagnostics;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Hosting;

namespace Clrscope.AspNetCore;

/// <summary>
/// Adds the controller to every host that is being built, as the tools of Entity Framework find hosts: also to those of CreateSlimBuilder and CreateEmptyBuilder, which know no
/// hosting startup. An app whose host does not tell is left as it is.
/// </summary>
internal sealed class HostWatcher : IObserver<DiagnosticListener>, IObserver<KeyValuePair<string, object?>>
{
    public void OnNext(DiagnosticListener value)
    {
        if (value.Name == "Microsoft.Extensions.Hosting") value.Subscribe(this);
    }

    public void OnNext(KeyValuePair<string, object?> value)
    {
        if (value.Key != "HostBuilding" || value.Value is null || !Enabled.HasKestrel()) return;
        try { Add(value.Value); }
        catch (Exception e) // the app's host must be built
        {
            Console.Error.WriteLine($"clrscope: cannot be added to the app: {e.Message}");
        }
    }

    // Alone, so that an app without ASP.NET never has to load what it names.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Add(object host) => (host as IHostBuilder)?.ConfigureServices((_, services) => ClrscopeHostingStartup.Add(services));

    public void OnCompleted() { }

    public void OnError(Exception error) { }
}
