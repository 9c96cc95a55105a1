// A patient for clrscope: `samples NAME [options]` shows one symptom and says what is true about it.
// docs/samples.md lists the symptoms, their options and their truths.
using Samples;

var name = args.FirstOrDefault() ?? "list";
if (name is "list" or "--help" or "-h")
{
    Catalog.Print(Console.Out);
    return 0;
}

var symptom = Catalog.Find(name);
if (symptom is null)
{
    Console.Error.WriteLine($"samples: no symptom is called '{name}'");
    Catalog.Print(Console.Error);
    return ExitCode.Usage;
}

try
{
    using var stage = new Stage(symptom, args[1..]);
    symptom.Run(stage);
    if (stage.Stay) stage.WaitForEnd();
    return stage.ExitCode;
}
catch (UsageException e)
{
    Console.Error.WriteLine($"samples: {e.Message}");
    Console.Error.WriteLine($"  hint: samples {symptom.Name} {symptom.Options} {Options.Common}");
    return ExitCode.Usage;
}
catch (PlatformNotSupportedException e)
{
    Console.Error.WriteLine($"samples: {e.Message}");
    return ExitCode.Unsupported;
}
