// Reads .nettrace files with Microsoft's TraceEvent library and prints what it saw as JSON, so that tests can
// compare clrscope's own reader with one that nobody here wrote. See README.md for the shapes.

namespace Clrscope.Oracle;

internal static class Program
{
    private const string Usage = """
        usage: oracle summary  FILE
               oracle events   FILE [--limit N] [--payload] [--values] [--bytes] [--stacks]
               oracle tracelog FILE
               oracle gc       FILE
               oracle heap     FILE
               oracle gcdump   FILE
               oracle pdb      MODULE
               oracle il-pdb   MODULE FILE
        """;

    private const int Failed = 2;
    private const int WrongArguments = 3;

    private static int Main(string[] args)
    {
        if (args.Length < 2)
        {
            return Refuse(Usage);
        }

        string file = args[1];
        string[] options = args[2..];
        if (!File.Exists(file))
        {
            return Refuse($"oracle: no such file: {file}");
        }

        try
        {
            return args[0] switch
            {
                "summary" when options.Length == 0 => SummaryCommand.Run(file),
                "events" when EventOptions.Parse(options) is { } parsed => EventsCommand.Run(file, parsed),
                "tracelog" when options.Length == 0 => TraceLogCommand.Run(file),
                "gc" when options.Length == 0 => GcCommand.Run(file),
                "heap" when options.Length == 0 => HeapCommand.Run(file),
                "gcdump" when options.Length == 0 => GcDumpCommand.Run(file),
                "pdb" when options.Length == 0 => PdbCommand.Run(file),
                "il-pdb" when options.Length == 1 => IlPdbCommand.Run(file, options[0]),
                _ => Refuse(Usage),
            };
        }
        catch (Exception e)
        {
            Console.Error.WriteLine($"oracle: {file}: {Describe(e)}");
            return Failed;
        }
    }

    // TraceEvent reads damage as an exception; what it dispatched before is still worth comparing.
    internal static string Describe(Exception e) => $"{e.GetType().Name}: {e.Message}";

    internal static int ExitCode(string? error) => error is null ? 0 : Failed;

    private static int Refuse(string why)
    {
        Console.Error.WriteLine(why);
        return WrongArguments;
    }
}
