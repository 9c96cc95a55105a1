using System.Text;

namespace Clrscope.Tests;

/// <summary>
/// A program that does a little of everything and tells what a session inside of it saw, one line of JSON for each event, for a
/// comparison with what clrscope sees from outside. Begins when a line comes in; what lies between the exceptions "begin" and "end" counts.
/// </summary>
static class Teller
{
    sealed class Marker(string message) : Exception(message);

    public static int Run()
    {
        var lines = new List<string>();
        using var source = new NumberSource();
        Console.WriteLine($"ready {Environment.ProcessId}");
        Console.ReadLine();
        var over = false;
        var session = Session.Start(
            new SessionRequest { Providers = { "Microsoft-Windows-DotNETRuntime:gc+gchandle+exception+contention+threading+jit+type:Verbose", "Clrscope-Tests-Numbers" } },
            (in ClrEvent e) =>
            {
                lines.Add(Json(e));
                if (e["ExceptionMessage"].ToString() == "end") Volatile.Write(ref over, true);
            }, options: new SessionOptions { QueueCapacity = 1 << 18, DrainTimeout = TimeSpan.FromSeconds(60) });
        Throw("begin");
        for (var i = 0; i < 3; ++i)
        {
            GC.Collect(i);
            Throw($"number {i}");
            source.Emit(i);
            source.OrderStop(i, true, new Guid(i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
            GC.KeepAlive(new byte[300_000]);
            var thread = new Thread(() => { });
            thread.Start();
            thread.Join();
        }
        Throw("end");
        Wait.Until(() => Volatile.Read(ref over), "the end");
        session.Dispose();
        foreach (var line in lines) Console.WriteLine(line);
        Console.WriteLine($"dropped {session.Dropped} failures {session.Failures}");
        Console.ReadLine(); // the recording outside ends first: a runtime that ends may cut it off
        return 0;
    }

    static void Throw(string message)
    {
        try
        {
            throw new Marker(message);
        }
        catch (Marker) { }
    }

    static string Json(in ClrEvent e)
    {
        var text = new StringBuilder($"{{\"provider\":{Quoted(e.Type.Provider)},\"name\":{Quoted(e.Type.Name)},\"id\":{e.Type.Id},\"osId\":{e.ThreadId},\"payload\":{{");
        for (var i = 0; i < e.Count; ++i)
            if (e[i].Kind != FieldKind.Missing) text.Append($"{(i == 0 ? "" : ",")}{Quoted(e.Type.Fields[i].Name)}:{Quoted(e[i].ToString())}");
        return text.Append("}}").ToString();
    }

    static string Quoted(string text) => System.Text.Json.JsonSerializer.Serialize(text);
}
