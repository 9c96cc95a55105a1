// The sequence points of a module's portable PDB, embedded or beside it, as System.Reflection.Metadata reads them: one
// line "token ilOffset line column endLine endColumn file" or "token ilOffset hidden" each.

using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace Clrscope.Oracle;

internal static class PdbCommand
{
    internal static int Run(string file)
    {
        using var module = new PEReader(File.OpenRead(file));
        if (!module.TryOpenAssociatedPortablePdb(file, path => File.Exists(path) ? File.OpenRead(path) : null,
                out MetadataReaderProvider? provider, out string? _) || provider is null)
        {
            Console.Error.WriteLine($"oracle: {file}: no PDB");
            return 2;
        }

        using (provider)
        {
            Print(provider.GetMetadataReader());
        }

        return 0;
    }

    private static void Print(MetadataReader reader)
    {
        foreach (MethodDebugInformationHandle handle in reader.MethodDebugInformation)
        {
            string token = $"{MetadataTokens.GetToken(handle.ToDefinitionHandle()):x8}";
            foreach (SequencePoint point in reader.GetMethodDebugInformation(handle).GetSequencePoints())
            {
                Console.WriteLine(point.IsHidden
                    ? $"{token} {point.Offset} hidden"
                    : $"{token} {point.Offset} {point.StartLine} {point.StartColumn} {point.EndLine} {point.EndColumn} "
                        + reader.GetString(reader.GetDocument(point.Document).Name));
            }
        }
    }
}
