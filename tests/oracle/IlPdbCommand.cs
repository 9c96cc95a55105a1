// Writes a portable PDB for a module whose source there is not: every byte of IL is a line of its own, its offset plus
// one. With it a report's lines say which IL the code came from. Made by System.Reflection.Metadata.

using System.Collections.Immutable;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

namespace Clrscope.Oracle;

internal static class IlPdbCommand
{
    internal static int Run(string file, string pdb)
    {
        using var module = new PEReader(File.OpenRead(file));
        MetadataReader reader = module.GetMetadataReader();
        DebugDirectoryEntry entry = module.ReadDebugDirectory().First(e => e.IsPortableCodeView);
        var id = new BlobContentId(module.ReadCodeViewDebugDirectoryData(entry).Guid, entry.Stamp);

        var made = new MetadataBuilder();
        DocumentHandle document = made.AddDocument(made.GetOrAddDocumentName("/il/" + Path.GetFileNameWithoutExtension(file) + ".il"),
            default, default, default);
        foreach (MethodDefinitionHandle handle in reader.MethodDefinitions)
        {
            int rva = reader.GetMethodDefinition(handle).RelativeVirtualAddress;
            int size = rva == 0 ? 0 : module.GetMethodBody(rva).GetILReader().Length;
            if (size == 0)
            {
                made.AddMethodDebugInformation(default, default);
                continue;
            }

            made.AddMethodDebugInformation(document, made.GetOrAddBlob(Points(size)));
        }

        var rows = new int[MetadataTokens.TableCount];
        for (var table = 0; table < (int)TableIndex.Document; ++table)
        {
            rows[table] = reader.GetTableRowCount((TableIndex)table);
        }

        var builder = new PortablePdbBuilder(made, rows.ToImmutableArray(), default, _ => id);
        var bytes = new BlobBuilder();
        builder.Serialize(bytes);
        using FileStream output = File.Create(pdb);
        bytes.WriteContentTo(output);
        return 0;
    }

    private static BlobBuilder Points(int size)
    {
        var blob = new BlobBuilder();
        blob.WriteCompressedInteger(0); // no local variables
        for (var offset = 0; offset < size; ++offset)
        {
            blob.WriteCompressedInteger(offset == 0 ? 0 : 1);
            blob.WriteCompressedInteger(0); // ends on the same line,
            blob.WriteCompressedInteger(1); // a column further
            if (offset == 0)
            {
                blob.WriteCompressedInteger(1);
                blob.WriteCompressedInteger(1);
            }
            else
            {
                blob.WriteCompressedSignedInteger(1);
                blob.WriteCompressedSignedInteger(0);
            }
        }

        return blob;
    }
}
